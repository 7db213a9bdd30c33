<?php

/**
 * Oarlock for PHP: write a worker as a function.
 *
 *     require __DIR__ . '/oarlock.php';
 *
 *     Oarlock\job('Resize', function (Oarlock\Job $job) {
 *         $job->progress(10, 'loading');
 *         ...                                          // return: the job is complete
 *         throw new Oarlock\Retry('busy', delay: 30);  // or: try again, or Fail, or Release
 *     });
 *
 *     Oarlock\serve();
 *
 * Copy this file next to your program; it needs PHP 8.0 and nothing else. It
 * serves pools of the modes `reuse` (a process for many jobs) and `once` (a
 * process per job).
 *
 * How an attempt ends:
 *
 *     the function returns     complete
 *     throw Retry              try again, costs one of the job's retries
 *     throw Fail               failed for good, under a group
 *     throw Release            given back, costs nothing
 *     throw Unknown            not for this program: left to one that knows the job
 *     any other Throwable      retry; group = its class, message = where it came from
 *
 * Where only some exceptions are worth another try, say which:
 *
 *     Oarlock\job('Fetch', $function, retryOn: [Timeout::class => 30, Busy::class], discardOn: [Gone::class]);
 *
 * retries those (after so many seconds, else after the pool's backoff), cancels the job
 * for those of discardOn, and fails it for all others.
 *
 * Where the pool says `batch = 100`, several jobs of one klass come in one message.
 * Functions are called for one after the other; a program that rather does them together
 * (one INSERT, one request) takes whole messages, in place of serve:
 *
 *     foreach (Oarlock\batches() as $batch) {
 *         insert(array_map(fn ($job) => $job->data, $batch->jobs));  // those without a verdict are complete then
 *     }
 *
 * A function that works for long looks at $job->cancelled() now and then; PHP does
 * not interrupt it. One that throws thereafter gives its job back. While jobs are served, STDIN is empty, so a program that is
 * started by a job cannot swallow job lines.
 */

declare(strict_types=1);

namespace Oarlock;

const LIBRARY = 'php/1.0';
const MESSAGE_LIMIT = 4096; // bytes of an exception that are kept as the message
const MAX_DEPTH = 1003; // a payload as deep as Redis' own JSON takes, and the line around it

/**
 * Makes the handler the one for jobs of this klass; it is called with the Job.
 *
 * With $retryOn, names of classes, or these with seconds, only exceptions of these are tried
 * again, and any other fails the job. An exception of $discardOn cancels the job, for which
 * there is nothing more to do. The class that is nearest to the exception's own decides.
 *
 * @param array<int|string, string|float|int|null>|null $retryOn
 * @param list<string> $discardOn
 */
function job(string $klass, callable $handler, ?array $retryOn = null, array $discardOn = []): void
{
    Worker::$handlers[$klass] = $handler;
    Worker::$remedies[$klass] = new Remedy($retryOn, $discardOn);
}

/** Makes the handler the one for every klass without its own. */
function fallback(callable $handler): void
{
    Worker::$fallback = $handler;
}

/**
 * Has the wrapper called with each job and the call that works it:
 *
 *     Oarlock\around(function (Oarlock\Job $job, callable $call) {
 *         try {
 *             return $call();
 *         } catch (\Throwable $error) {
 *             Tracker::capture($error, $job->jid);
 *             throw $error;                    // or the job is complete
 *         }
 *     });
 *
 * What $call throws is what becomes of the job, Retry, Fail and the like too. The wrapper that is
 * named first is the outermost.
 */
function around(callable $wrapper): void
{
    Worker::$around[] = $wrapper;
}

/** Asks to be replaced once the jobs at hand are done. */
function bye(?string $reason = null): void
{
    Worker::$current?->send('bye', Worker::$current->run(), ['reason' => $reason]);
}

/** Serves jobs until Oarlock has no more. */
function serve(): void
{
    [$limit, $null] = connect();
    Worker::$current->serve($limit);
    fclose($null);
}

/**
 * The payloads of jobs by their keys, in the order of their scores. Of a job into which puts
 * merge (merge is all or set) they are what is in its list, of any other its data alone; of one
 * without a key they stand under its jid. A key of digits is a number here, as in any array.
 *
 * @param iterable<Job> $jobs
 * @return array<array-key, list<mixed>>
 */
function payloadsById(iterable $jobs): array
{
    $found = [];
    foreach ($jobs as $job) {
        $id = ($job->key ?? '') !== '' ? $job->key : $job->jid;
        $listed = in_array($job->merge, ['all', 'set'], true) && is_array($job->data);
        $found[$id] = array_merge($found[$id] ?? [], $listed ? $job->data : [$job->data]);
    }
    return $found;
}

/**
 * Yields the messages of a pool, each with one job or more, until Oarlock has no more. For
 * mode `reuse`. When the loop goes on, what has no verdict is complete. Nothing interrupts
 * it: where $batch->stopping(), come to an end. An exception that leaves the loop ends the
 * process, and then none of several jobs is blamed, but each comes again with fewer others.
 *
 * @return \Generator<int, Batch>
 */
function batches(): \Generator
{
    [, $null] = connect();
    yield from Worker::$current->batches();
    fclose($null);
}

/**
 * Takes the input from the program, and makes the worker.
 *
 * @return array{int, resource} how many messages there are, 0 for any number; what holds descriptor 0
 */
function connect(): array
{
    if (stream_isatty(STDIN)) {
        fwrite(STDERR, "This is a worker: Oarlock starts it and writes jobs to its stdin. To try it by hand:\n"
            . "  oarlock try --klass NAME --job '{}' -- php {$_SERVER['argv'][0]}\n");
        exit(1);
    }
    // Our own copy of stdin; descriptor 0 becomes the null device, being the lowest one free.
    $source = fopen('php://fd/0', 'rb');
    fclose(STDIN);
    $null = fopen('/dev/null', 'rb');
    // Taken out of the environment, for the programs that a job may start.
    $fd = getenv('OARLOCK_STATUS_FD');
    putenv('OARLOCK_STATUS_FD');
    $status = fopen('php://fd/' . ($fd === false ? 1 : (int) $fd), 'wb');
    // On stdout somebody's unfinished line may stand in front of ours.
    Worker::$current = new Worker($source, $status, $fd === false ? "\n" : '');
    $limit = getenv('OARLOCK_MODE') === 'once' ? 1 : 0;
    $told = getenv('OARLOCK_DRAIN_SIGNAL');
    if ($told !== false && $limit !== 0 && function_exists('pcntl_signal')) { // a process for one job is sent no lines
        pcntl_async_signals(true);
        pcntl_signal(constant('SIG' . $told), function () {
            Worker::$current->draining = true;
        });
    }
    return [$limit, $null];
}

/** A verdict that is thrown. */
abstract class Verdict extends \Exception
{
    /** @param array<string, mixed> $fields */
    public function __construct(public string $verb, string $message, public array $fields)
    {
        parent::__construct($message);
    }
}

/** Try the job again: after $delay seconds, else after the pool's backoff. */
final class Retry extends Verdict
{
    public function __construct(string $message = '', ?float $delay = null, ?string $group = null, mixed $data = null)
    {
        $text = $message === '' ? null : $message;
        parent::__construct('retry', $message, ['delay' => $delay, 'group' => $group, 'message' => $text, 'data' => $data]);
    }
}

/** The job failed for good; failed jobs are listed by their group. */
final class Fail extends Verdict
{
    public function __construct(string $message = '', string $group = 'failed', mixed $data = null)
    {
        parent::__construct('fail', $message, ['group' => $group, 'message' => $message, 'data' => $data]);
    }
}

/** Give the job back, after $delay seconds; no retry is counted. */
final class Release extends Verdict
{
    public function __construct(?float $delay = null)
    {
        parent::__construct('release', 'released', ['delay' => $delay]);
    }
}

/**
 * This program has nothing for such a job; one of another version may. What a
 * worker says by itself of a klass without a function. $klass names what is not
 * known where that is not the klass of the job.
 */
final class Unknown extends Verdict
{
    public function __construct(string $message = '', ?string $klass = null)
    {
        parent::__construct('unknown', $message, ['klass' => $klass, 'message' => $message === '' ? null : $message]);
    }
}

/**
 * A verdict, put or checkpoint has more bytes than the pool reads (its max_line).
 * Nothing was sent. Leave what is large in a file or a store, and say where it is. A
 * function that lets it pass has failed, in the group `verdict-too-long`.
 */
final class TooLong extends \LengthException
{
    public string $group;

    public function __construct(string $verb, int $size, int $limit)
    {
        parent::__construct("its $verb has $size bytes, and the pool reads $limit (max_line)");
        $this->group = in_array($verb, ['put', 'checkpoint'], true) ? "$verb-too-long" : 'verdict-too-long';
    }
}

/** What becomes of a job by the class of the exception that its function let pass. */
final class Remedy
{
    private bool $choosy;
    /** @var array<string, array{verb: string, delay: float|int|null}> */
    private array $of = [];

    /**
     * @param array<int|string, string|float|int|null>|null $retryOn
     * @param list<string> $discardOn
     */
    public function __construct(?array $retryOn = null, array $discardOn = [])
    {
        $this->choosy = $retryOn !== null;
        foreach ($discardOn as $kind) {
            $this->of[ltrim($kind, '\\')] = ['verb' => 'cancel', 'delay' => null];
        }
        foreach ($retryOn ?? [] as $kind => $delay) {
            [$kind, $delay] = is_int($kind) ? [(string) $delay, null] : [$kind, $delay];
            $this->of[ltrim($kind, '\\')] = ['verb' => 'retry', 'delay' => $delay];
        }
    }

    /** @param array<string, mixed> $fields */
    public function settle(Job $job, \Throwable $error, array $fields): void
    {
        $kinds = [get_class($error), ...array_values(class_parents($error)), ...array_values(class_implements($error))];
        foreach ($kinds as $kind) {
            $said = $this->of[$kind] ?? null;
            if ($said === null) {
                continue;
            }
            if ($said['verb'] === 'cancel') {
                fwrite(STDERR, "discarded: {$fields['message']}\n");
                $job->settle('cancel', []);
            } else {
                $job->settle('retry', $fields + ['delay' => $said['delay']]);
            }
            return;
        }
        $job->settle($this->choosy ? 'fail' : 'retry', $fields + ['raised' => true]); // nobody said it
    }
}

/** One attempt at one job. It is yours until your function returns. */
final class Job
{
    public string $run;          // id of this attempt
    public string $jid;
    public string $klass;
    public string $queue;
    public mixed $data;          // the payload, decoded: objects are objects, lists are arrays
    /** @var list<string> */
    public array $tags;
    public float $priority;
    public int $attempt;         // 1 for the first
    public int $retries;         // how many the job was put with
    public int $remaining;       // how many are left
    public float $timeout;       // seconds this attempt may take
    public ?string $dir;         // private directory, if there is one
    public mixed $saved;         // last checkpoint of an earlier attempt
    public ?string $key; // no other job of it runs; if it has one
    public ?string $merge; // how puts of its key merge into it, if they do: data is a list with all and set
    /** @var float[] */
    public array $scores; // of the payloads in data, in their order
    public ?string $correlation; // what an answer to the job names, if it has one
    public ?object $response;    // what it was parked for: data or error, and age; see park
    public ?string $traceparent; // W3C trace context: this attempt as a span, if it is traced
    public ?string $tracestate;
    public bool $settled = false; // whether a verdict was sent; later ones are not
    private ?string $reason = null;
    private bool $draining = false;
    private string $callback;

    public function __construct(private Worker $worker, object $message, private string $line, private ?int $place = null)
    {
        $this->run = $message->run;
        $this->jid = $message->jid ?? '';
        $this->klass = $message->klass ?? '';
        $this->queue = $message->queue ?? '';
        $this->data = $message->data ?? null;
        $this->tags = $message->tags ?? [];
        $this->priority = $message->priority ?? 0;
        $this->attempt = $message->attempt ?? 1;
        $this->retries = $message->retries ?? 0;
        $this->remaining = $message->remaining ?? 0;
        $this->timeout = $message->timeout ?? 0;
        $this->dir = $message->dir ?? null;
        $this->saved = $message->checkpoint ?? null;
        $this->key = $message->key ?? null;
        $this->merge = $message->merge ?? null;
        $this->scores = $message->scores ?? [];
        $this->correlation = $message->correlation ?? null;
        $this->response = $message->response ?? null;
        $this->callback = $message->callback ?? '';
        $this->traceparent = $message->traceparent ?? null;
        $this->tracestate = $message->tracestate ?? null;
    }

    /**
     * The payload as the JSON text that is stored, not a byte changed: for
     * numbers that must survive beyond a double, and for signatures.
     */
    public function raw(): string
    {
        $line = $this->place === null ? $this->line : element(member($this->line, 'jobs'), $this->place);
        return member($line, 'data');
    }

    /** Why the attempt has to stop (canceled, lock_lost, timeout, shutdown), or null. */
    public function cancelled(): ?string
    {
        $this->worker->look();
        return $this->reason;
    }

    /**
     * Whether to come to an end soon, where the next attempt can go on: Oarlock leaves
     * or changes its code, or the attempt has to stop. See step.
     */
    public function stopping(): bool
    {
        return $this->cancelled() !== null || $this->draining || $this->worker->draining;
    }

    /**
     * Says that everything up to $cursor is done. It is kept as the checkpoint, and if
     * the job is stopping, it is given back here (by throwing Release): the next attempt
     * finds $cursor in $saved.
     */
    public function step(mixed $cursor): void
    {
        $this->checkpoint($cursor);
        if ($this->cancelled() === 'timeout') {
            throw new Retry("stopped after its timeout of {$this->timeout} s", group: 'timeout');
        }
        if ($this->stopping()) {
            throw new Release();
        }
    }

    /** Shows how far the job is, in percent; also a sign of life. */
    public function progress(?float $pct = null, ?string $message = null): void
    {
        $this->worker->send('progress', $this->run, ['pct' => $pct, 'message' => $message]);
    }

    /** A sign of life, for pools with a stall_timeout. */
    public function heartbeat(): void
    {
        $this->worker->send('heartbeat', $this->run, []);
    }

    /** Keeps $data (64 KiB of JSON) for the next attempt, which finds it in $saved. */
    public function checkpoint(mixed $data): void
    {
        $this->worker->send('checkpoint', $this->run, ['data' => $data]);
    }

    /**
     * Writes a structured line to the job's log.
     *
     * @param array<string, mixed> $fields
     */
    public function log(string $message, string $level = 'info', array $fields = []): void
    {
        $this->worker->send('log', $this->run, ['level' => $level, 'message' => clean($message)] + $fields);
    }

    /**
     * Puts a new job, if and when this one is acknowledged. Options: jid, delay
     * (seconds), priority, tags, retries, depends, timeout,
     * if_exists (replace, final, never).
     *
     * @param array<string, mixed> $options
     */
    public function put(string $queue, string $klass, mixed $data = null, array $options = []): void
    {
        $fields = ['queue' => $queue, 'klass' => $klass, 'data' => $data ?? new \stdClass()];
        $this->worker->send('put', $this->run, $fields + $options);
    }

    // What the job wants done to itself or, by its jid, to another: where the pool's allow
    // names the verb. It is done soon, in this order, and before the job is settled; what
    // cannot be done is in the log.

    /**
     * Gives the job tags.
     *
     * @param list<string> $tags
     */
    public function tag(array $tags, ?string $jid = null): void
    {
        $this->worker->send('tag', $this->run, ['tags' => $tags, 'jid' => $jid]);
    }

    /**
     * Takes tags from the job.
     *
     * @param list<string> $tags
     */
    public function untag(array $tags, ?string $jid = null): void
    {
        $this->worker->send('untag', $this->run, ['tags' => $tags, 'jid' => $jid]);
    }

    /** Has what happens to the job published. */
    public function track(?string $jid = null): void
    {
        $this->worker->send('track', $this->run, ['jid' => $jid]);
    }

    /** Has it published no longer. */
    public function untrack(?string $jid = null): void
    {
        $this->worker->send('untrack', $this->run, ['jid' => $jid]);
    }

    /** Changes the job's priority; higher comes first. */
    public function prioritize(float $priority, ?string $jid = null): void
    {
        $this->worker->send('priority', $this->run, ['priority' => $priority, 'jid' => $jid]);
    }

    /** Adds an entry to the job's history; $data is an object, or an array. */
    public function note(string $message, array|object|null $data = null, ?string $jid = null): void
    {
        $this->worker->send('note', $this->run, ['message' => clean($message), 'data' => $data, 'jid' => $jid]);
    }

    /** Removes the job for good. Of this one it is the verdict, unless there was one. */
    public function cancel(?string $jid = null): void
    {
        if ($jid === null || $jid === $this->jid) {
            $this->settle('cancel', []);
        } else {
            $this->worker->send('cancel', $this->run, ['jid' => $jid]);
        }
    }

    /**
     * Puts the job again with all its retries, into $queue, else its own. Of this one it
     * is the verdict, unless there was one.
     */
    public function requeue(?string $queue = null, ?float $delay = null, ?string $jid = null): void
    {
        if ($jid === null || $jid === $this->jid) {
            $this->settle('requeue', ['queue' => $queue, 'delay' => $delay]);
        } else {
            $this->worker->send('requeue', $this->run, ['queue' => $queue, 'delay' => $delay, 'jid' => $jid]);
        }
    }

    /**
     * Completes the job now; with $next, moves it to that queue. $data replaces the
     * payload. What the function does afterwards no longer counts.
     *
     * @param list<string>|null $depends
     */
    public function ack(mixed $data = null, ?string $next = null, ?float $delay = null, ?array $depends = null): void
    {
        $this->settle('ack', ['data' => $data, 'next' => $next, 'delay' => $delay, 'depends' => $depends]);
    }

    /** Ends the attempt as throwing Retry does. */
    public function retry(string $message = '', ?float $delay = null, ?string $group = null, mixed $data = null): void
    {
        $this->settle('retry', (new Retry($message, $delay, $group, $data))->fields);
    }

    /** Ends the attempt as throwing Fail does. */
    public function fail(string $message = '', string $group = 'failed', mixed $data = null): void
    {
        $this->settle('fail', (new Fail($message, $group, $data))->fields);
    }

    /** Ends the attempt as throwing Release does. */
    public function release(?float $delay = null): void
    {
        $this->settle('release', ['delay' => $delay]);
    }

    /**
     * Ends the attempt, to wait without a process for an answer that names $correlation, for
     * $timeout seconds at most (a day). The next attempt has it in $response, and $checkpoint
     * in $saved; with $then 'complete' the answer completes the job.
     *
     * Let this be the function's last word. Ask first, then park: an answer that is faster
     * than that is kept.
     */
    public function park(?string $correlation = null, ?float $timeout = null, mixed $checkpoint = null, mixed $data = null,
        ?string $then = null): void
    {
        $this->settle('park', ['correlation' => $correlation, 'timeout' => $timeout, 'checkpoint' => $checkpoint, 'data' => $data, 'then' => $then]);
    }

    /**
     * The address at which whoever is asked answers this job, and no other, by POST of JSON: for
     * the answer that $correlation names, or the job's own. It is a secret of you two; '' where
     * [park] secret_file of the configuration names none.
     */
    public function callback(?string $correlation = null): string
    {
        return $this->callback === '' ? '' : $this->callback . rawurlencode($correlation ?? $this->correlation ?? '');
    }

    /** Ends the attempt as throwing Unknown does. */
    public function unknown(string $message = '', ?string $klass = null): void
    {
        $this->settle('unknown', (new Unknown($message, $klass))->fields);
    }

    /**
     * Sends a verdict, unless there was one.
     *
     * @param array<string, mixed> $fields
     */
    public function settle(string $verb, array $fields): void
    {
        if ($this->settled) {
            return;
        }
        // What was printed so far belongs to this job, not to the next one.
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        flush();
        $this->worker->send($verb, $this->run, $fields);
        $this->settled = true;
    }

    /** Notes that the job is to come to an end. */
    public function drain(): void
    {
        $this->draining = true;
    }

    /** Notes why the attempt has to stop. */
    public function halt(string $reason): void
    {
        $this->reason = $reason;
    }
}

/**
 * The jobs of one message, one or more of one klass. It is yours until you ask for the next.
 *
 * Each of its jobs may be given its own verdict ($job->ack, $job->fail, ...). The methods here
 * are about those that have none, by one line for all of them. If the process dies before, or
 * takes too long, that counts for none of several jobs: they come again in smaller messages,
 * until the one that is to blame is alone.
 *
 * @implements \IteratorAggregate<int, Job>
 */
final class Batch implements \IteratorAggregate, \Countable
{
    /** @param list<Job> $jobs */
    public function __construct(private Worker $worker, public string $run, public array $jobs)
    {
    }

    public function getIterator(): \Iterator
    {
        return new \ArrayIterator($this->jobs);
    }

    public function count(): int
    {
        return count($this->jobs);
    }

    public function klass(): string
    {
        return $this->jobs[0]->klass;
    }

    /** Whether to come to an end soon: the supervisor leaves or changes its code, or the time is up. */
    public function stopping(): bool
    {
        return array_filter($this->jobs, fn (Job $job) => $job->stopping()) !== [];
    }

    /**
     * The payloads of its jobs by their keys; see the function of that name.
     *
     * @return array<array-key, list<mixed>>
     */
    public function payloadsById(): array
    {
        return payloadsById($this->jobs);
    }

    /** Shows how far the batch is, in percent; also a sign of life. */
    public function progress(?float $pct = null, ?string $message = null): void
    {
        $this->worker->send('progress', $this->run, ['pct' => $pct, 'message' => $message]);
    }

    /** A sign of life, for pools with a stall_timeout. */
    public function heartbeat(): void
    {
        $this->worker->send('heartbeat', $this->run, []);
    }

    /** Completes the jobs that have no verdict; with $next, moves them to that queue. */
    public function ack(?string $next = null): void
    {
        $this->settle('ack', ['next' => $next]);
    }

    /** Has them tried again, at the cost of a retry each. */
    public function retry(string $message = '', ?float $delay = null, ?string $group = null): void
    {
        $this->settle('retry', (new Retry($message, $delay, $group))->fields);
    }

    /** Fails them for good. */
    public function fail(string $message = '', string $group = 'failed'): void
    {
        $this->settle('fail', (new Fail($message, $group))->fields);
    }

    /** Gives them back; no retry is counted. */
    public function release(?float $delay = null): void
    {
        $this->settle('release', (new Release($delay))->fields);
    }

    /** @param array<string, mixed> $fields */
    private function settle(string $verb, array $fields): void
    {
        $open = array_filter($this->jobs, fn (Job $job) => !$job->settled);
        if ($open === []) {
            return;
        }
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        flush();
        $this->worker->send($verb, $this->run, $fields);
        foreach ($open as $job) {
            $job->settled = true;
        }
    }
}

/** Reads job lines and writes status lines; one per process. */
final class Worker
{
    /** @var array<string, callable> */
    public static array $handlers = [];
    /** @var array<string, Remedy> */
    public static array $remedies = [];
    /** @var list<callable> the outermost first */
    public static array $around = [];
    /** @var callable|null */
    public static $fallback = null;
    public static ?Worker $current = null;

    private const WHOLE = ['ack', 'retry', 'fail', 'release', 'unknown', 'park', 'cancel', 'requeue', 'put', 'checkpoint']; // of no use if cut

    /** @var list<Job> jobs that wait; more than one with prefetch */
    private array $inbox = [];
    /** @var list<Batch>|null messages that wait, for whoever takes them whole; null: nobody does */
    public ?array $whole = null;
    private ?Batch $batch = null; // the message that was read last
    private string $rest = ''; // a line that is not complete yet
    private ?Job $job = null; // the one whose handler runs
    private int $limit; // of a line, without its end
    private bool $ended = false; // end of file was seen
    public bool $draining = false; // the pool's drain_signal came
    private bool $stopping = false; // a shutdown line was seen, or the end of the input

    /**
     * @param resource $source
     * @param resource $status
     * @param string $lead written before each line; a newline where others print too
     */
    public function __construct(private $source, private $status, private string $lead)
    {
        $this->limit = (int) (getenv('OARLOCK_MAX_LINE') ?: 1 << 20);
        stream_set_read_buffer($source, 0); // so that stream_select sees all there is
        stream_set_write_buffer($status, 0);
        stream_set_blocking($source, true);
        stream_set_blocking($status, true);
    }

    private function greet(): void
    {
        // On stdout the hello of a process for one job counts if it names its run.
        $caps = ['cancel', 'shutdown', 'draining', 'batch'];
        $this->send('hello', getenv('OARLOCK_RUN') ?: null, ['v' => [1], 'lib' => LIBRARY, 'caps' => $caps]);
    }

    /** Runs jobs until the end of the input, or those of one message if $limit is not 0. */
    public function serve(int $limit): void
    {
        $this->greet();
        do {
            while ($this->inbox === [] && !$this->stopping) {
                $this->read();
            }
            if ($this->inbox === []) {
                return;
            }
            $this->attempt(array_shift($this->inbox));
        } while ($limit === 0 || $this->inbox !== []);
    }

    /**
     * Messages until the end of the input.
     *
     * @return \Generator<int, Batch>
     */
    public function batches(): \Generator
    {
        $this->whole = [];
        $this->greet();
        while (true) {
            while ($this->whole === [] && !$this->stopping) {
                $this->read();
            }
            if ($this->whole === []) {
                return;
            }
            $batch = array_shift($this->whole);
            yield $batch;
            $batch->ack();
        }
    }

    /** The run at work, or null. */
    public function run(): ?string
    {
        return $this->job?->run;
    }

    /** Takes in what has arrived, without waiting. */
    public function look(): void
    {
        while (!$this->ended) {
            $ready = [$this->source];
            $none = null;
            if (!stream_select($ready, $none, $none, 0)) {
                return;
            }
            $this->read();
        }
    }

    /**
     * Sends a status line; fields that are null are left out.
     *
     * @param array<string, mixed> $fields
     */
    public function send(string $verb, ?string $run, array $fields): void
    {
        $message = ['@' => $verb, 'run' => $run] + $fields;
        $message = array_filter($message, fn ($value) => $value !== null);
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION;
        $text = json_encode($message, $flags, MAX_DEPTH);
        if (strlen($text) > $this->limit && in_array($verb, self::WHOLE, true)) {
            throw new TooLong($verb, strlen($text), $this->limit);
        }
        $line = $this->lead . $text . "\n";
        for ($written = 0; $written < strlen($line); $written += $count) {
            $count = fwrite($this->status, $written === 0 ? $line : substr($line, $written));
            if ($count === false) {
                exit(1); // nobody listens any more
            }
        }
    }

    /** Calls the handler of the job and sends what became of it. */
    private function attempt(Job $job): void
    {
        $handler = self::$handlers[$job->klass] ?? self::$fallback;
        if ($handler === null) {
            $known = implode(', ', array_keys(self::$handlers));
            $job->unknown("no handler for {$job->klass}; this worker knows $known", $job->klass);
            return;
        }
        $this->job = $job;
        try {
            $this->call($handler, $job);
        } catch (TooLong $error) { // the function's, or what it threw is
            if ($job->settled) {
                fwrite(STDERR, $error->getMessage() . "\n");
            }
            $job->settle('fail', ['group' => $error->group, 'message' => $error->getMessage(), 'raised' => true]);
        } finally {
            $this->job = null;
        }
    }

    private function call(callable $handler, Job $job): void
    {
        try {
            $call = fn () => $handler($job);
            foreach (array_reverse(self::$around) as $wrapper) {
                $call = fn () => $wrapper($job, $call);
            }
            $call();
            $job->ack();
        } catch (TooLong $error) {
            throw $error;
        } catch (Verdict $verdict) {
            $job->settle($verdict->verb, $verdict->fields);
        } catch (\Throwable $error) {
            $text = clean((string) $error);
            if ($job->settled) {
                fwrite(STDERR, $text . "\n");
            }
            $reason = $job->cancelled();
            if ($reason !== null && $reason !== 'timeout') {
                $job->release(); // it gave up because it had to
            } else {
                $text = clean(substr($text, 0, MESSAGE_LIMIT));
                $remedy = ($reason === null ? self::$remedies[$job->klass] ?? null : null) ?? new Remedy();
                $remedy->settle($job, $error, ['message' => $text, 'group' => $reason ?? get_class($error)]);
            }
        }
    }

    /** Reads once, waiting if need be, and takes in the lines that are complete. */
    private function read(): void
    {
        $chunk = fread($this->source, 1 << 16);
        if ($chunk === '' || $chunk === false) {
            if (feof($this->source)) {
                $this->ended = $this->stopping = true;
                $this->receive($this->rest); // a last line may do without its newline
            }
            return;
        }
        $this->rest .= $chunk;
        if (strpos($chunk, "\n") === false) {
            return;
        }
        $lines = explode("\n", $this->rest);
        $this->rest = array_pop($lines);
        foreach ($lines as $line) {
            $this->receive($line);
        }
    }

    private function receive(string $line): void
    {
        if (trim($line) === '') {
            return;
        }
        try {
            $message = json_decode($line, false, MAX_DEPTH, JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            $this->refuse($line, $error);
            return;
        }
        switch ($message->{'@'} ?? null) {
            case 'job':
                $this->arrived($message->run, [new Job($this, $message, $line)]);
                break;
            case 'batch':
                $this->arrived($message->run, $this->jobsOf($message, $line));
                break;
            case 'hello':
                $this->limit = $message->max_line ?? $this->limit;
                break;
            case 'cancel':
                $this->cancel($message->run ?? '', $message->reason ?? 'canceled');
                break;
            case 'draining':
                $run = $message->run ?? '';
                foreach ([$this->job, ...$this->inbox, ...($this->batch?->jobs ?? [])] as $job) {
                    if ($job !== null && ($job->run === $run || $this->batch?->run === $run)) {
                        $job->drain();
                    }
                }
                break;
            case 'shutdown':
                $this->stopping = true;
                break;
        }
    }

    /** @return list<Job> */
    private function jobsOf(object $message, string $line): array
    {
        $jobs = [];
        foreach ($message->jobs as $place => $job) {
            foreach (['timeout', 'lease', 'dir'] as $name) {
                $job->$name ??= $message->$name ?? null;
            }
            $jobs[] = new Job($this, $job, $line, $place);
        }
        return $jobs;
    }

    /** @param list<Job> $jobs */
    private function arrived(string $run, array $jobs): void
    {
        $this->batch = new Batch($this, $run, $jobs);
        if ($this->whole === null) {
            array_push($this->inbox, ...$jobs);
        } else {
            $this->whole[] = $this->batch;
        }
    }

    private function cancel(string $run, string $reason): void
    {
        if ($this->batch?->run === $run && count($this->batch) > 1) {
            foreach ($this->batch as $job) {
                if (!$job->settled) {
                    $this->cancel($job->run, $reason);
                }
            }
            return;
        }
        if ($this->whole !== null) {
            foreach ($this->batch?->jobs ?? [] as $job) {
                if ($job->run === $run) {
                    $job->halt($reason);
                }
            }
            return;
        }
        if ($this->job?->run === $run) {
            $this->job->halt($reason);
        }
        foreach ($this->inbox as $place => $waiting) {
            if ($waiting->run === $run) {
                array_splice($this->inbox, $place, 1);
                $waiting->release();
                return;
            }
        }
    }

    /** Fails a job whose line cannot be read, rather than leave the supervisor waiting. */
    private function refuse(string $line, \Throwable $error): void
    {
        if (preg_match('/^\s*{\s*"@"\s*:\s*"(?:job|batch)"\s*,\s*"run"\s*:\s*"([^"\\\\]*)"/', $line, $found)) {
            $this->send('fail', clean($found[1]), ['group' => 'unreadable-job', 'message' => $error->getMessage(), 'raised' => true]);
        } else {
            fwrite(STDERR, 'oarlock: skipped a line that is not a message: ' . clean(substr($line, 0, 200)) . "\n");
        }
    }
}

/** The value of a member of a JSON object, as it is written there. */
function member(string $line, string $name): string
{
    $depth = $start = $at = 0;
    $key = null;
    $found = 'null';
    while (preg_match('/"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"|[\[\]{}:,]/', $line, $match, PREG_OFFSET_CAPTURE, $at)) {
        [$piece, $offset] = $match[0];
        $at = $offset + strlen($piece);
        if ($piece === '{' || $piece === '[') {
            $depth++;
        }
        if ($depth === 1 && in_array($piece, ['{', ':', ',', '}'], true)) {
            $part = trim(substr($line, $start, $offset - $start));
            if ($piece === ':') {
                $key = json_decode($part);
            } elseif ($key === $name && $piece !== '{') {
                $found = $part;
            }
            $start = $at;
        }
        if ($piece === '}' || $piece === ']') {
            $depth--;
        }
    }
    return $found;
}

/** An element of a JSON list, as it is written there. */
function element(string $list, int $place): string
{
    $depth = $start = $at = 0;
    while (preg_match('/"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"|[\[\]{}:,]/', $list, $match, PREG_OFFSET_CAPTURE, $at)) {
        [$piece, $offset] = $match[0];
        $at = $offset + strlen($piece);
        if ($piece === '{' || $piece === '[') {
            $depth++;
        }
        if ($depth === 1 && in_array($piece, ['[', ',', ']'], true)) {
            if ($piece !== '[' && $place-- === 0) {
                return trim(substr($list, $start, $offset - $start));
            }
            $start = $at;
        }
        if ($piece === '}' || $piece === ']') {
            $depth--;
        }
    }
    return 'null';
}

/** Text that JSON can carry, whatever bytes it is made of. */
function clean(string $text): string
{
    return json_decode(json_encode($text, JSON_INVALID_UTF8_SUBSTITUTE));
}
