<?php

// Puts a job: php put.php QUEUE KLASS DATA. No package is needed.
//
// The protocol is one script in Redis; oarlock.lua beside this file is it (see
// README.md). A call is EVALSHA with the script's SHA, a 0 for "no keys", the command,
// the time, and the command's own arguments.

declare(strict_types=1);

/** Redis or the script said no. */
final class Refused extends RuntimeException
{
}

/** As much of a Redis client as this takes. */
final class MiniRedis
{
    private $socket;

    public function __construct(string $host, int $port)
    {
        $this->socket = stream_socket_client("tcp://$host:$port", $code, $why, 5);
        if ($this->socket === false) {
            throw new RuntimeException("no Redis at $host:$port: $why");
        }
    }

    public function call(string|int|float ...$args): ?string
    {
        $request = '*' . count($args) . "\r\n";
        foreach ($args as $arg) {
            $request .= '$' . strlen((string) $arg) . "\r\n$arg\r\n";
        }
        for ($left = $request; $left !== ''; $left = substr($left, $count)) {
            $count = fwrite($this->socket, $left) ?: throw new RuntimeException('the connection is gone');
        }
        $line = fgets($this->socket);
        if ($line === false) {
            throw new RuntimeException('the connection is gone');
        }
        $rest = rtrim(substr($line, 1));
        return match ($line[0]) {
            '-' => throw new Refused($rest),
            '$' => $rest === '-1' ? null : substr(stream_get_contents($this->socket, (int) $rest + 2), 0, -2),
            default => $rest,
        };
    }
}

/**
 * Puts a job and returns its id.
 *
 * $data is JSON text. Options are priority, retries, and as JSON text tags and
 * depends. After an error of the network call it again with the same jid: the
 * second put takes the place of the first.
 *
 * @param array<string, string|int|float> $options
 */
function put(
    MiniRedis $redis,
    string $script,
    string $queue,
    string $klass,
    string $data,
    ?string $jid = null,
    float $delay = 0,
    array $options = [],
): string {
    $jid ??= bin2hex(random_bytes(16));
    $args = ['put', sprintf('%.6F', microtime(true)), 'producer', $queue, $jid, $klass, $data, $delay];
    foreach ($options as $name => $value) {
        array_push($args, $name, $value);
    }
    $sha = sha1($script);
    try {
        $redis->call('EVALSHA', $sha, 0, ...$args);
    } catch (Refused $error) {
        if (!str_starts_with($error->getMessage(), 'NOSCRIPT')) {
            throw $error;
        }
        $redis->call('SCRIPT', 'LOAD', $script); // the first call since Redis started
        $redis->call('EVALSHA', $sha, 0, ...$args);
    }
    $redis->call('PUBLISH', 'ql:oarlock:wake', $queue); // optional: an idle pool looks at once
    return $jid;
}

$lua = file_get_contents(getenv('OARLOCK_LUA') ?: 'oarlock.lua');
$server = new MiniRedis(getenv('REDIS_HOST') ?: '127.0.0.1', (int) (getenv('REDIS_PORT') ?: 6379));
echo put($server, $lua, $argv[1], $argv[2], $argv[3]), "\n";
