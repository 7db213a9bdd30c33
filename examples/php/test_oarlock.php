<?php

// Tests of oarlock.php: php test_oarlock.php [NAME …]
//
// Plays the conversations in protocol/testdata, which the helpers of all languages
// share, and tests what is PHP's own. The file is the worker under test as well.

declare(strict_types=1);

require __DIR__ . '/oarlock.php';

const CASES = __DIR__ . '/../../protocol/testdata';
const STEP = 10.0; // seconds a step may take

// --- the worker under test ---

function worker(): void
{
    Oarlock\job('Nothing', fn () => null);
    Oarlock\job('Echo', fn ($job) => $job->ack(data: $job->data));
    Oarlock\job('Raise', fn ($job) => throw new RangeException($job->data->message));
    Oarlock\job('Fail', fn ($job) => throw new Oarlock\Fail($job->data->message, $job->data->group));
    Oarlock\job('Retry', fn ($job) => throw new Oarlock\Retry($job->data->message, delay: $job->data->delay));
    Oarlock\job('Release', fn ($job) => throw new Oarlock\Release($job->data->delay));
    Oarlock\job('Unknown', fn ($job) => throw new Oarlock\Unknown($job->data->message, $job->data->klass));
    Oarlock\job('Around', function ($job) {
        $job->log('worked');
        throw new RangeException('oops');
    });
    foreach (['outer', 'inner'] as $name) {
        Oarlock\around(function ($job, $call) use ($name) {
            if ($job->klass !== 'Around') {
                return $call();
            }
            $job->log("$name begins");
            try {
                return $call();
            } catch (RangeException $error) {
                $job->log("$name saw it");
                if (($job->data->swallow ?? null) !== $name) {
                    throw $error;
                }
            }
        });
    }
    Oarlock\job('Next', fn ($job) => $job->ack(next: $job->data->next, delay: $job->data->delay));
    Oarlock\job('Print', fn ($job) => print($job->data->text));
    Oarlock\job('Progress', fn ($job) => $job->progress($job->data->pct, $job->data->message));
    Oarlock\job('Put', fn ($job) => $job->put($job->data->queue, $job->data->klass, $job->data->data));
    Oarlock\job('Raw', fn ($job) => $job->log($job->raw()));
    Oarlock\job('Payloads', fn ($job) => $job->ack(data: Oarlock\payloadsById([$job])));
    Oarlock\job('Trace', fn ($job) => $job->ack(data: [$job->traceparent, $job->tracestate]));
    Oarlock\job('Park', function ($job) {
        if ($job->response !== null) {
            $job->ack(data: [$job->response->data ?? null, $job->response->error ?? null, $job->saved]);
        } else {
            $job->park($job->data->correlation, timeout: $job->data->timeout, checkpoint: ['step' => 2], data: $job->callback($job->data->correlation) ?: null, then: 'resume');
        }
    });
    Oarlock\job('Checkpoint', function ($job) {
        $job->checkpoint($job->data->keep);
        $job->ack(data: $job->saved);
    });
    Oarlock\job('Wait', function ($job) {
        $job->progress(0);
        while ($job->cancelled() === null) {
            usleep(5000);
        }
        $job->retry(delay: 0);
    });
    Oarlock\job('Steps', function ($job) {
        if ($job->saved !== null) {
            $job->ack(data: $job->saved);
            return;
        }
        $job->step(1);
        $job->progress(0);
        while (!$job->stopping()) {
            usleep(5000);
        }
        $job->step(2);
    });

    Oarlock\job('Wishes', function ($job) {
        $job->tag(['red', 'two words']);
        $job->untag(['red']);
        $job->track();
        $job->untrack();
        $job->prioritize(7);
        $job->note('half way', ['row' => 5]);
        $other = $job->data->of;
        $job->tag(['seen'], jid: $other);
        $job->cancel(jid: $other);
        $job->requeue('other', delay: 5, jid: $other);
        $job->requeue('next', delay: 60);
    });
    Oarlock\job('Cancel', fn ($job) => $job->cancel());
    Oarlock\job('Choosy', function ($job) {
        $kinds = ['away' => 'RuntimeException', 'farther' => 'OutOfBoundsException', 'busy' => 'DomainException',
            'gone' => 'LengthException', 'else' => 'TypeError'];
        throw new $kinds[$job->data->raise]('oops');
    }, retryOn: [\RuntimeException::class => 30, \DomainException::class], discardOn: [\LengthException::class]);

    // Beyond the shared cases.
    Oarlock\job('GiveUp', function ($job) {
        $job->progress(0);
        while ($job->cancelled() === null) {
            usleep(5000);
        }
        throw new RuntimeException('cancelled');
    });
    Oarlock\job('AckThenThrow', function ($job) {
        $job->ack();
        throw new RuntimeException('too late');
    });
    Oarlock\job('NaN', fn ($job) => $job->ack(data: NAN));
    Oarlock\job('Bytes', fn () => throw new RuntimeException("\xff\xfe not text"));
    Oarlock\job('TypeError', fn () => strlen([]));
    Oarlock\job('Stdin', fn ($job) => $job->ack(data: file_get_contents('php://stdin')));
    Oarlock\job('Buffered', function () {
        ob_start();
        echo 'held back';
    });
    Oarlock\serve();
}

// --- the player ---

function check(bool $good, string $problem): void
{
    if (!$good) {
        throw new RuntimeException($problem);
    }
}

/** A worker with our ends of its pipes. */
final class Conversation
{
    private const SILENT = ['hello', 'log', 'heartbeat']; // skipped unless expected

    public $stdin;
    private $process;
    private $source;
    private string $rest = '';
    private string $stray = '';
    private string $printed;
    private bool $separate;

    public function __construct(string $mode = 'reuse', string $status = 'fd', ?object $first = null)
    {
        $this->printed = tempnam(sys_get_temp_dir(), 'printed');
        $this->separate = $status === 'fd';
        $env = ['OARLOCK_PROTOCOL' => '1', 'OARLOCK_MODE' => $mode] + getenv();
        $streams = [0 => ['pipe', 'r'], 1 => ['pipe', 'w'], 2 => STDERR];
        if ($this->separate) {
            $env['OARLOCK_STATUS_FD'] = '3';
            $streams[1] = ['file', $this->printed, 'w'];
            $streams[3] = ['pipe', 'w'];
        }
        foreach ($first === null ? [] : ['run', 'jid', 'klass', 'queue', 'attempt', 'timeout'] as $name) {
            $env['OARLOCK_' . strtoupper($name)] = (string) $first->$name;
        }
        $this->process = proc_open([PHP_BINARY, __FILE__, '--worker'], $streams, $pipes, null, $env);
        $this->stdin = $pipes[0];
        $this->source = $pipes[$this->separate ? 3 : 1];
        stream_set_read_buffer($this->source, 0);
    }

    public function send(string $line): void
    {
        fwrite($this->stdin, $line . "\n");
    }

    public function job(string $klass, mixed $data = null, string $run = 'r1'): void
    {
        $this->send(json_encode(['@' => 'job', 'run' => $run, 'jid' => 'j', 'klass' => $klass, 'data' => $data]));
    }

    /** Takes the next status line that counts, compares the fields named, returns it. */
    public function expect(array $fields): string
    {
        for (;;) {
            $line = $this->next();
            check($line !== null, 'the worker left; expected ' . json_encode($fields));
            $message = json_decode($line);
            if (in_array($message->{'@'}, self::SILENT, true) && $message->{'@'} !== $fields['@']) {
                continue;
            }
            foreach ($fields as $name => $value) {
                check(property_exists($message, $name), "$name is not in $line");
                $same = $value === '*' || json_encode($value) === json_encode($message->$name);
                check($same, "$line is not " . json_encode($fields));
            }
            return $line;
        }
    }

    public function exit(int $code): void
    {
        if (is_resource($this->stdin)) {
            fclose($this->stdin);
        }
        while (($line = $this->next()) !== null) {
            check(in_array(json_decode($line)->{'@'}, self::SILENT, true), "left over: $line");
        }
        $deadline = microtime(true) + STEP;
        while (($state = proc_get_status($this->process))['running']) {
            check(microtime(true) < $deadline, 'it did not exit');
            usleep(2000);
        }
        check($state['exitcode'] === $code, "exit {$state['exitcode']}, expected $code");
    }

    public function printed(): string
    {
        return $this->stray . file_get_contents($this->printed);
    }

    public function close(): void
    {
        proc_terminate($this->process, 9);
        proc_close($this->process);
        unlink($this->printed);
    }

    /** The next status line, null at the end. */
    private function next(): ?string
    {
        $deadline = microtime(true) + STEP;
        for (;;) {
            while (($end = strpos($this->rest, "\n")) !== false) {
                $line = substr($this->rest, 0, $end);
                $this->rest = substr($this->rest, $end + 1);
                if ($line !== '' && $line[0] === '{' && is_string(json_decode($line)?->{'@'} ?? null)) {
                    return $line;
                }
                $this->stray .= $line . "\n";
            }
            $ready = [$this->source];
            $none = null;
            $left = max(0, (int) (($deadline - microtime(true)) * 1e6));
            check((bool) stream_select($ready, $none, $none, 0, $left), 'nothing came within ' . STEP . ' s');
            $chunk = fread($this->source, 1 << 16);
            if ($chunk === '' || $chunk === false) {
                return null;
            }
            $this->rest .= $chunk;
        }
    }
}

function play(string $path): void
{
    $case = json_decode(file_get_contents($path));
    $jobs = array_filter($case->steps, fn ($step) => str_contains($step->send ?? '', '"job"'));
    $first = $case->mode === 'once' ? json_decode(reset($jobs)->send) : null;
    $talk = new Conversation($case->mode, $case->status, $first);
    try {
        foreach ($case->steps as $step) {
            if (isset($step->send)) {
                $talk->send($step->send);
            } elseif (isset($step->expect)) {
                $line = $talk->expect((array) $step->expect);
                foreach ($step->contains ?? [] as $text) {
                    check(str_contains($line, $text), "$text is not in $line");
                }
            } elseif (isset($step->close)) {
                fclose($talk->stdin);
            } elseif (isset($step->exit)) {
                $talk->exit($step->exit);
            }
        }
        foreach ($case->stdout ?? [] as $text) {
            check(str_contains($talk->printed(), $text), "$text was not printed");
        }
    } finally {
        $talk->close();
    }
}

// --- what is PHP's own ---

$own = [
    'a handler that gives up gives its job back' => function (Conversation $talk) {
        $talk->job('GiveUp');
        $talk->expect(['@' => 'progress']);
        $talk->send('{"@":"cancel","run":"r1","reason":"shutdown","grace":5}');
        $talk->expect(['@' => 'release', 'run' => 'r1']);
        $talk->job('GiveUp', null, 'r2');
        $talk->expect(['@' => 'progress']);
        $talk->send('{"@":"cancel","run":"r2","reason":"timeout","grace":5}');
        $talk->expect(['@' => 'retry', 'run' => 'r2', 'group' => 'timeout']);
        $talk->exit(0);
    },
    'the first verdict is the only one' => function (Conversation $talk) {
        $talk->job('AckThenThrow');
        $talk->expect(['@' => 'ack', 'run' => 'r1']);
        $talk->exit(0);
    },
    'any throwable is a retry' => function (Conversation $talk) {
        $talk->job('NaN');
        $talk->expect(['@' => 'retry', 'group' => 'JsonException']);
        $talk->job('Bytes', null, 'r2');
        $talk->expect(['@' => 'retry', 'run' => 'r2', 'group' => 'RuntimeException']);
        $talk->job('TypeError', null, 'r3');
        $talk->expect(['@' => 'retry', 'run' => 'r3', 'group' => 'TypeError']);
        $talk->exit(0);
    },
    "job lines are not the handler's stdin" => function (Conversation $talk) {
        $talk->job('Stdin');
        $talk->job('Nothing', null, 'r2');
        $talk->expect(['@' => 'ack', 'run' => 'r1', 'data' => '']);
        $talk->expect(['@' => 'ack', 'run' => 'r2']);
        $talk->exit(0);
    },
    'buffered output is printed' => function (Conversation $talk) {
        $talk->job('Buffered');
        $talk->expect(['@' => 'ack']);
        check(str_contains($talk->printed(), 'held back'), 'nothing was printed before the verdict');
        $talk->exit(0);
    },
    'a job that cannot be read fails' => function (Conversation $talk) {
        $deep = str_repeat('[', 100000) . '1' . str_repeat(']', 100000);
        $talk->send('{"@":"job","run":"r1","jid":"j","data":' . $deep . '}');
        $talk->expect(['@' => 'fail', 'run' => 'r1', 'group' => 'unreadable-job']);
        $talk->exit(0);
    },
    'a large payload' => function (Conversation $talk) {
        $text = str_repeat('x', 4 << 20);
        $talk->send('{"@":"hello","v":1,"max_line":16777216}');
        $talk->job('Echo', $text);
        check(json_decode($talk->expect(['@' => 'ack']))->data === $text, 'it changed');
        $talk->exit(0);
    },
    'the last line may lack its newline' => function (Conversation $talk) {
        fwrite($talk->stdin, '{"@":"job","run":"r1","klass":"Nothing","data":{}}');
        fclose($talk->stdin);
        $talk->expect(['@' => 'ack', 'run' => 'r1']);
        $talk->exit(0);
    },
];

function main(array $own, array $wanted): int
{
    $tests = [];
    foreach (glob(CASES . '/*.json') as $path) {
        $tests[basename($path, '.json')] = fn () => play($path);
    }
    check($tests !== [], 'no cases in ' . CASES);
    foreach ($own as $name => $test) {
        $tests[$name] = function () use ($test) {
            $talk = new Conversation();
            try {
                $test($talk);
            } finally {
                $talk->close();
            }
        };
    }
    $ran = $failed = 0;
    foreach ($tests as $name => $test) {
        if ($wanted !== [] && !in_array($name, $wanted, true)) {
            continue;
        }
        $ran++;
        try {
            $test();
        } catch (Throwable $problem) {
            $failed++;
            echo "FAIL $name: ", get_class($problem), ": {$problem->getMessage()} line {$problem->getLine()}\n";
        }
    }
    echo "$ran tests, $failed failed\n";
    return $failed === 0 ? 0 : 1;
}

if (($argv[1] ?? '') === '--worker') {
    worker();
} else {
    exit(main($own, array_slice($argv, 1)));
}
