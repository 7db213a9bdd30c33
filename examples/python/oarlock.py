"""Oarlock for Python: write a worker as a function.

    import oarlock

    @oarlock.job("Resize")
    def resize(job):
        job.progress(10, "loading")
        ...                                  # return: the job is complete
        raise oarlock.Retry("busy", delay=30)  # or: try again, or Fail, or Release

    oarlock.serve()

Copy this file next to your program; it needs Python 3.8 and nothing else. The
same program serves all three modes of a pool: `once` (a process per job),
`reuse` (a process for many jobs) and `preload` (the program is loaded once and
forks itself for each job).

How an attempt ends:

    the function returns         complete
    raise Retry(...)             try again, costs one of the job's retries
    raise Fail(...)              failed for good, under a group
    raise Release(...)           given back, costs nothing
    raise Unknown(...)           not for this program: left to one that knows the job
    any other exception          retry; group = its class, message = traceback

Where only some exceptions are worth another try, say which:

    @oarlock.job("Fetch", retry_on={ConnectionError: 30, TimeoutError: None}, discard_on=[Gone])

retries those (after so many seconds; None: the pool's backoff), cancels the job for
those of discard_on, and fails it for all others.

Where the pool says `batch = 100`, several jobs of one klass come in one message.
Functions are called for one after the other; a program that rather does them
together (one INSERT, one request) takes whole messages:

    for batch in oarlock.batches():
        insert([job.data for job in batch])    # the loop goes on: those without a verdict are complete

What the program prints goes to the job's log: the protocol does not travel on
stdout where Oarlock offers a descriptor of its own. While jobs are served,
stdin is empty, so a program that is started by a job cannot swallow job lines.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import re
import select
import signal
import stat
import sys
# Underneath the module signal, whose enumerations would cost each fork 0.2 ms.
from _signal import SIG_DFL, SIG_SETMASK, SIGIO, pthread_sigmask, signal as set_signal  # type: ignore
from _thread import allocate_lock, get_ident
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NoReturn, Optional, Tuple, Type, Union

    Raised = Type[Exception]
    Handler = Callable[["Job"], Any]
    Hook = Callable[[], Any]
    Around = Callable[["Job", Callable[[], Any]], Any]

__all__ = [
    "Batch", "Cancelled", "Fail", "Job", "Release", "Retry", "TooLong", "Unknown",
    "after_fork", "around", "batches", "before_fork", "bye", "default", "job",
    "payloads_by_id", "serve",
]

LIBRARY = "python/1.0"
TRACEBACK_TAIL = 4096  # characters of a traceback that are kept as the message


# --- what a program says about itself ----------------------------------------

_handlers: Dict[str, Tuple[Handler, bool]] = {}  # and whether it may be interrupted
_fallback: Optional[Tuple[Handler, bool]] = None
_remedies: Dict[str, _Remedy] = {}  # of exceptions, by klass
_around: List[Around] = []  # the outermost first
_before_fork: List[Hook] = []
_after_fork: List[Hook] = []
_worker: Optional[_Worker] = None


def job(klass: str, interrupt: bool = True,
        retry_on: Union[Iterable[Raised], Dict[Raised, Optional[float]], None] = None,
        discard_on: Iterable[Raised] = ()) -> Callable[[Handler], Handler]:
    """Makes the decorated function the one for jobs of this klass.

    A function is called with the Job, in the main thread; an `async def` runs
    in an event loop of its own. A job that is cancelled meanwhile gets Cancelled
    raised wherever it is; with interrupt=False nothing is raised, and the
    function is expected to look at job.cancelled now and then.

    Cancelled comes with the next line of Python that runs: a call into C that
    takes no notice of signals ends first, and if that is later than the grace,
    the process is killed.

    With retry_on, a list of exception classes, only these are tried again, and any other
    fails the job; as a dict it says after how many seconds, None for the pool's backoff.
    An exception of discard_on cancels the job, for which there is nothing more to do.
    The class that comes first in the exception's own line of ancestors decides.
    """
    _remedies[klass] = _Remedy(retry_on, discard_on)

    def register(handler: Handler) -> Handler:
        _handlers[klass] = (handler, interrupt)
        return handler
    return register


def default(handler: Handler) -> Handler:
    """Makes the decorated function the one for every klass without its own."""
    global _fallback
    _fallback = (handler, True)
    return handler


def around(wrapper: Around) -> Around:
    """Has the decorated function called with each job and the call that works it:

        @oarlock.around
        def report(job, call):
            try:
                return call()
            except Exception as error:
                tracker.capture(error, job.jid)
                raise                      # or the job is complete

    What call raises is what becomes of the job, Retry, Fail and the like too. The wrapper
    that is named first is the outermost. It is no coroutine, call runs one to its end.
    """
    _around.append(wrapper)
    return wrapper


def before_fork(hook: Hook) -> Hook:
    """Calls hook in the preloaded program before each fork: close connections."""
    _before_fork.append(hook)
    return hook


def after_fork(hook: Hook) -> Hook:
    """Calls hook in each new fork before its job: open connections again.

    Sockets and pipes of the preloaded program are gone in the fork (they read
    as empty); its regular files are shared.
    """
    _after_fork.append(hook)
    return hook


def bye(reason: Optional[str] = None) -> None:
    """Asks to be replaced once the jobs at hand are done."""
    if _worker is not None:
        _worker.send("bye", _worker.job.run if _worker.job else None, reason=reason)


class Retry(Exception):
    """Try the job again: after delay seconds, else after the pool's backoff."""

    def __init__(self, message: str = "", delay: Optional[float] = None,
                 group: Optional[str] = None, data: Any = None) -> None:
        super().__init__(message)
        self.fields = {"message": message or None, "delay": delay, "group": group, "data": data}


class Fail(Exception):
    """The job failed for good; failed jobs are listed by their group."""

    def __init__(self, message: str = "", group: str = "failed", data: Any = None) -> None:
        super().__init__(message)
        self.fields = {"group": group, "message": message, "data": data}


class Release(Exception):
    """Give the job back, after delay seconds; no retry is counted."""

    def __init__(self, delay: Optional[float] = None) -> None:
        super().__init__("released")
        self.fields = {"delay": delay}


class Unknown(Exception):
    """This program has nothing for such a job; one of another version may.

    What a worker says by itself of a klass without a function. klass names what
    is not known where that is not the klass of the job.
    """

    def __init__(self, message: str = "", klass: Optional[str] = None) -> None:
        super().__init__(message or "unknown")
        self.fields = {"klass": klass, "message": message or None}


class TooLong(ValueError):
    """A verdict, put or checkpoint has more bytes than the pool reads (its max_line).

    Nothing was sent. Leave what is large in a file or a store, and say where it is.
    A function that lets it pass has failed, in the group `verdict-too-long`.
    """

    def __init__(self, verb: str, size: int, limit: int) -> None:
        super().__init__("its %s has %d bytes, and the pool reads %d (max_line)" % (verb, size, limit))
        self.group = ("%s-too-long" % verb) if verb in ("put", "checkpoint") else "verdict-too-long"


class _Remedy:
    """What becomes of a job by the class of the exception that its function let pass."""

    def __init__(self, retry_on: Union[Iterable[Raised], Dict[Raised, Optional[float]], None],
                 discard_on: Iterable[Raised]) -> None:
        self.choosy = retry_on is not None
        self.of: Dict[Raised, Dict[str, Any]] = {kind: {"verb": "cancel"} for kind in discard_on}
        delays = retry_on if isinstance(retry_on, dict) else dict.fromkeys(retry_on or ())
        for kind, delay in delays.items():
            self.of[kind] = {"verb": "retry", "delay": delay}
        for kind in self.of:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise TypeError("retry_on and discard_on name classes of exceptions, not %r" % (kind,))

    def settle(self, job: Job, error: Exception, text: str) -> None:
        fields: Dict[str, Any] = {"message": text, "group": _class_name(error)}
        said = next((self.of[kind] for kind in type(error).__mro__ if kind in self.of), None)
        if said is None:  # nobody said it
            job._settle("fail" if self.choosy else "retry", raised=True, **fields)
        elif said["verb"] == "cancel":
            sys.stderr.write("discarded: %s\n" % text)
            job._settle("cancel")
        else:
            job._settle("retry", delay=said["delay"], **fields)


def wrapped(job: Job, handler: Handler) -> Callable[[], Any]:
    """The call of handler, in all that is around it."""
    def innermost() -> Any:
        result = handler(job)
        if hasattr(result, "__await__"):
            import asyncio
            return asyncio.run(result)
        return result

    def within(wrapper: Around, call: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: wrapper(job, call)

    call: Callable[[], Any] = innermost
    for wrapper in reversed(_around):
        call = within(wrapper, call)
    return call


class Cancelled(BaseException):
    """The attempt has to stop; args[0] says why, in the words of Job.cancelled.

    Not an Exception, so that `except Exception` lets it pass. Clean up, save a
    checkpoint if that helps the next attempt, and let it go on: the grace is
    short, and then the process is killed.
    """


# --- a job -------------------------------------------------------------------

class Job:
    """One attempt at one job. It is yours until your function returns."""

    def __init__(self, worker: _Worker, message: Dict[str, Any], line: bytes, place: Optional[int] = None) -> None:
        get = message.get
        self.run: str = message["run"]  # id of this attempt
        self.jid: str = get("jid", "")
        self.klass: str = get("klass", "")
        self.queue: str = get("queue", "")
        self.data: Any = get("data")  # the payload, decoded
        self.tags: List[str] = get("tags") or []
        self.priority: float = get("priority", 0)
        self.attempt: int = get("attempt", 1)  # 1 for the first
        self.retries: int = get("retries", 0)  # how many the job was put with
        self.remaining: int = get("remaining", 0)  # how many are left
        self.timeout: float = get("timeout", 0)  # seconds this attempt may take
        self.lease: float = get("lease", 0)  # seconds until the lock must be renewed; not your concern
        self.dir: str = get("dir", "")  # private directory, "" if there is none
        self.saved: Any = get("checkpoint")  # last checkpoint of an earlier attempt
        self._callback: str = get("callback", "")
        self.key: str = get("key", "")  # no other job of it runs, "" if it has none
        self.merge: str = get("merge", "")  # how puts of its key merge into it: data is a list with all and set; "" if they do not
        self.scores: List[float] = get("scores") or []  # of the payloads in data, in their order
        self.correlation: str = get("correlation", "")  # what an answer to the job names, "" if it has none
        self.response: Optional[Dict[str, Any]] = get("response")  # what it was parked for: data or error, age; see park
        self.traceparent: str = get("traceparent", "")  # W3C trace context: this attempt as a span, "" if it is not traced
        self.tracestate: str = get("tracestate", "")
        self.settled = False  # whether a verdict was sent; later ones are not
        self._reason: Optional[str] = None
        self._draining = False
        self._worker = worker
        self._line = line
        self._place = place  # in the list of a batch line; None: it has a line of its own

    @property
    def raw(self) -> str:
        """The payload as the JSON text that is stored, not a byte changed.

        For numbers that must survive beyond a double, and for signatures.
        """
        text = self._line.decode()
        if self._place is not None:
            text = _element(_member(text, "jobs"), self._place)
        return _member(text, "data")

    @property
    def cancelled(self) -> Optional[str]:
        """Why the attempt has to stop (canceled, lock_lost, timeout, shutdown), or None."""
        if get_ident() == self._worker.main:
            self._worker.look()
        return self._reason

    @property
    def stopping(self) -> bool:
        """Whether to come to an end soon, where the next attempt can go on: Oarlock
        leaves or changes its code, or the attempt has to stop. See step."""
        return self.cancelled is not None or self._draining or self._worker.draining

    def step(self, cursor: Any) -> None:
        """Says that everything up to cursor is done. It is kept as the checkpoint, and
        if the job is stopping, it is given back here (by raising Release): the next
        attempt finds cursor in job.saved."""
        self.checkpoint(cursor)
        if self.cancelled == "timeout":
            raise Retry("stopped after its timeout of %g s" % self.timeout, group="timeout")
        if self.stopping:
            raise Release()

    def progress(self, pct: Optional[float] = None, message: Optional[str] = None) -> None:
        """Shows how far the job is, in percent; also a sign of life."""
        self._worker.send("progress", self.run, pct=pct, message=message)

    def heartbeat(self) -> None:
        """A sign of life, for pools with a stall_timeout."""
        self._worker.send("heartbeat", self.run)

    def checkpoint(self, data: Any) -> None:
        """Keeps data (64 KiB of JSON) for the next attempt, which finds it in job.saved."""
        self._worker.send_whole("checkpoint", b'{"@":"checkpoint","run":%b,"data":%b}\n'
                                % (_encode(self.run), _encode(data)))

    def log(self, message: str, level: str = "info", **fields: Any) -> None:
        """Writes a structured line to the job's log."""
        self._worker.send("log", self.run, level=level, message=message, **fields)

    def put(self, queue: str, klass: str, data: Any, **options: Any) -> None:
        """Puts a new job, if and when this one is acknowledged.

        Options: jid, delay (seconds), priority, tags, retries, depends, timeout,
        if_exists (replace, final, never).
        """
        options.update(queue=queue, klass=klass, data={} if data is None else data)
        self._worker.send_whole("put", _status_line("put", self.run, options))

    # What the job wants done to itself or, by its jid, to another: where the pool's allow
    # names the verb. It is done soon, in this order, and before the job is settled; what
    # cannot be done is in the log.

    def tag(self, *tags: str, jid: Optional[str] = None) -> None:
        """Gives the job tags."""
        self._worker.send("tag", self.run, tags=list(tags), jid=jid)

    def untag(self, *tags: str, jid: Optional[str] = None) -> None:
        """Takes tags from the job."""
        self._worker.send("untag", self.run, tags=list(tags), jid=jid)

    def track(self, jid: Optional[str] = None) -> None:
        """Has what happens to the job published."""
        self._worker.send("track", self.run, jid=jid)

    def untrack(self, jid: Optional[str] = None) -> None:
        """Has it published no longer."""
        self._worker.send("untrack", self.run, jid=jid)

    def prioritize(self, priority: float, jid: Optional[str] = None) -> None:
        """Changes the job's priority; higher comes first."""
        self._worker.send("priority", self.run, priority=priority, jid=jid)

    def note(self, message: str, data: Any = None, jid: Optional[str] = None) -> None:
        """Adds an entry to the job's history; data is a dict or a list."""
        self._worker.send("note", self.run, message=message, data=data, jid=jid)

    def cancel(self, jid: Optional[str] = None) -> None:
        """Removes the job for good. Of this one it is the verdict, unless there was one."""
        if jid is None or jid == self.jid:
            self._settle("cancel")
        else:
            self._worker.send("cancel", self.run, jid=jid)

    def requeue(self, queue: Optional[str] = None, delay: Optional[float] = None, jid: Optional[str] = None) -> None:
        """Puts the job again with all its retries, into queue, else its own. Of this one it
        is the verdict, unless there was one."""
        if jid is None or jid == self.jid:
            self._settle("requeue", queue=queue, delay=delay)
        else:
            self._worker.send("requeue", self.run, queue=queue, delay=delay, jid=jid)

    def ack(self, data: Any = None, next: Optional[str] = None, delay: Optional[float] = None,
            depends: Optional[List[str]] = None) -> None:
        """Completes the job now; with next, moves it to that queue.

        data replaces the payload. What the function does afterwards no longer
        counts, so let this be its last word.
        """
        self._settle("ack", data=data, next=next, delay=delay, depends=depends)

    def retry(self, message: str = "", delay: Optional[float] = None,
              group: Optional[str] = None, data: Any = None) -> None:
        """Ends the attempt as `raise Retry(...)` does."""
        self._settle("retry", **Retry(message, delay, group, data).fields)

    def fail(self, message: str = "", group: str = "failed", data: Any = None) -> None:
        """Ends the attempt as `raise Fail(...)` does."""
        self._settle("fail", **Fail(message, group, data).fields)

    def release(self, delay: Optional[float] = None) -> None:
        """Ends the attempt as `raise Release(...)` does."""
        self._settle("release", delay=delay)

    def park(self, correlation: Optional[str] = None, timeout: Optional[float] = None, checkpoint: Any = None,
             data: Any = None, then: Optional[str] = None) -> None:
        """Ends the attempt, to wait without a process for an answer that names correlation,
        for timeout seconds at most (a day). The next attempt has it in job.response, and
        checkpoint in job.saved; with then="complete" the answer completes the job.

        Let this be the function's last word. Ask first, then park: an answer that is
        faster than that is kept.
        """
        self._settle("park", correlation=correlation, timeout=timeout, checkpoint=checkpoint, data=data, then=then)

    def callback(self, correlation: Optional[str] = None) -> str:
        """The address at which whoever is asked answers this job, and no other, by POST of JSON:
        for the answer that correlation names, or the job's own. It is a secret of you two. "" where
        [park] secret_file of the configuration names none."""
        from urllib.parse import quote  # which takes a while, and few need it

        return self._callback and self._callback + quote(correlation or self.correlation, safe="")

    def unknown(self, message: str = "", klass: Optional[str] = None) -> None:
        """Ends the attempt as `raise Unknown(...)` does."""
        self._settle("unknown", **Unknown(message, klass).fields)

    def _settle(self, verb: str, **fields: Any) -> None:
        if self.settled:
            return
        # What was printed so far belongs to this job, not to the next one.
        sys.stdout.flush()
        sys.stderr.flush()
        line = _status_line(verb, self.run, fields)
        self._worker.measure(verb, line)
        self.settled = True
        self._worker.send_raw(line)


def payloads_by_id(jobs: Iterable[Job]) -> Dict[str, List[Any]]:
    """The payloads of jobs by their keys, in the order of their scores.

    Of a job into which puts merge (merge is all or set) they are what is in its list, of
    any other its data alone; of one without a key they stand under its jid.
    """
    found: Dict[str, List[Any]] = {}
    for job in jobs:
        listed = job.merge in ("all", "set") and isinstance(job.data, list)
        found.setdefault(job.key or job.jid, []).extend(job.data if listed else [job.data])
    return found


class Batch:
    """The jobs of one message, one or more of one klass. It is yours until you ask for the next.

    Each of its jobs may be given its own verdict (job.ack, job.fail, ...). The methods here
    are about those that have none, by one line for all of them. If the process dies
    before, or takes too long, that counts for none of several jobs: they come again in
    smaller messages, until the one that is to blame is alone.
    """

    def __init__(self, run: str, jobs: List[Job], worker: _Worker) -> None:
        self.run = run
        self.jobs = jobs
        self._worker = worker
        self._reason: Optional[str] = None

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    @property
    def klass(self) -> str:
        return self.jobs[0].klass

    @property
    def stopping(self) -> bool:
        """Whether to come to an end soon: the supervisor leaves or changes its code, or the time is up."""
        return any([job.stopping for job in self.jobs])

    def payloads_by_id(self) -> Dict[str, List[Any]]:
        """The payloads of its jobs by their keys; see the function of that name."""
        return payloads_by_id(self.jobs)

    def progress(self, pct: Optional[float] = None, message: Optional[str] = None) -> None:
        """Shows how far the batch is, in percent; also a sign of life."""
        self._worker.send("progress", self.run, pct=pct, message=message)

    def heartbeat(self) -> None:
        """A sign of life, for pools with a stall_timeout."""
        self._worker.send("heartbeat", self.run)

    def ack(self, next: Optional[str] = None) -> None:
        """Completes the jobs that have no verdict; with next, moves them to that queue."""
        self._settle("ack", next=next)

    def retry(self, message: str = "", delay: Optional[float] = None, group: Optional[str] = None) -> None:
        """Has them tried again, at the cost of a retry each."""
        self._settle("retry", **Retry(message, delay, group).fields)

    def fail(self, message: str = "", group: str = "failed") -> None:
        """Fails them for good."""
        self._settle("fail", **Fail(message, group).fields)

    def release(self, delay: Optional[float] = None) -> None:
        """Gives them back; no retry is counted."""
        self._settle("release", **Release(delay).fields)

    def _settle(self, verb: str, **fields: Any) -> None:
        open_jobs = [job for job in self.jobs if not job.settled]
        if not open_jobs:
            return
        sys.stdout.flush()
        sys.stderr.flush()
        line = _status_line(verb, self.run, fields)
        self._worker.measure(verb, line)
        for job in open_jobs:
            job.settled = True
        self._worker.send_raw(line)


# --- the conversation with the supervisor --------------------------------------

class _Worker:
    """Reads job lines and writes status lines; one per process.

    While a handler runs, the kernel signals new input (O_ASYNC), so that a
    cancel line interrupts the handler without a thread that waits for it. All
    input is read in the main thread; status lines may be sent from any thread.
    """

    def __init__(self, lead: bytes = b"") -> None:
        self.source = self.status = self.flags = -1  # until connect
        self.signals = False  # whether the kernel says when there is new input
        self.limit = int(os.environ.get("OARLOCK_MAX_LINE") or 1 << 20)  # of a line, without its end
        self.lead = lead  # written before each line; a newline where others print too
        self.ended = False  # end of file was seen
        self.stopping = False  # a shutdown line was seen, or the end of the input
        self.draining = False  # the pool's drain_signal came
        told = os.environ.get("OARLOCK_DRAIN_SIGNAL")
        self.drain_signal: int = getattr(signal, "SIG" + told) if told else 0
        self.inbox: Deque[Job] = deque()  # jobs that wait; more than one with prefetch
        self.rest: List[bytes] = []  # the pieces of a line that is not complete yet
        self.job: Optional[Job] = None  # the one whose handler runs
        self.batch: Optional[Batch] = None  # the message that was read last
        self.whole: Optional[Deque[Batch]] = None  # messages that wait, for whoever takes them whole
        self.dir = os.environ.get("OARLOCK_DIR", "")  # the private directory the process knows
        self.place = os.path.realpath(self.dir) if self.dir else ""  # where that is
        self.interrupt = False  # whether Cancelled may be raised in it now
        self.looking = self.look_again = False
        self.outbox: Deque[bytes] = deque()
        self.turn = allocate_lock()  # held by the thread that writes
        self.sending = 0  # how deep the main thread is in send_raw
        self.main = get_ident()
        self.pid = 0  # until connect; a fork that a function lets come back has another
        self.poll = select.poll()
        # On stdout the hello of a process for one job counts if it names its run.
        self.hello = _status_line("hello", os.environ.get("OARLOCK_RUN"), {
            "v": [1], "lib": LIBRARY, "caps": ["cancel", "shutdown", "draining", "batch"]})

    def connect(self, source: int, status: int) -> None:
        """Has it read from one descriptor and write to the other, both of which it makes blocking."""
        self.source, self.status, self.pid = source, status, os.getpid()
        os.set_blocking(source, True)
        os.set_blocking(status, True)
        self.poll.register(source, select.POLLIN)
        self.flags = fcntl.fcntl(source, fcntl.F_GETFL)
        kind = os.fstat(source).st_mode
        # A terminal or a file is shared with others, and sends no such signal.
        self.signals = stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)
        if self.signals:
            fcntl.fcntl(source, fcntl.F_SETOWN, os.getpid())
            set_signal(SIGIO, self.on_input)

    def greet(self) -> None:
        self.send_raw(self.hello)

    def serve(self, limit: int) -> None:
        """Runs jobs until the end of the input, or those of one message if limit is not 0."""
        if limit and self.drain_signal:  # a process for one job is sent no lines
            set_signal(self.drain_signal, self.on_drain)
        self.greet()
        while True:
            while not self.inbox and not self.stopping:
                self.read()
            if not self.inbox:
                return
            self.attempt(self.inbox.popleft())
            if limit and not self.inbox:
                return

    def batches(self) -> Iterator[Batch]:
        """Messages until the end of the input."""
        self.whole = deque()
        self.greet()
        while True:
            while not self.whole and not self.stopping:
                self.read()
            if not self.whole:
                return
            batch = self.whole.popleft()
            yield batch
            self.leave_fork()
            batch.ack()

    def attempt(self, job: Job) -> None:
        """Calls the handler of job and sends what became of it."""
        known = _handlers.get(job.klass, _fallback)
        if known is None:
            job.unknown("no handler for %s; this worker knows %s" % (job.klass, ", ".join(sorted(_handlers))),
                        job.klass)
            return
        if job.dir != self.dir and job.dir:
            self.move(job.dir)
        try:
            self.call(job, *known)
        except TooLong as error:  # the function's, or what it raised is
            if job.settled:
                sys.stderr.write("%s\n" % error)
            job._settle("fail", group=error.group, message=str(error), raised=True)

    def call(self, job: Job, handler: Handler, interrupt: bool) -> None:
        try:
            try:
                self.begin(job, interrupt)
                wrapped(job, handler)()
            finally:
                self.end()
        except Cancelled as stop:
            self.end()  # the interruption may have come in the middle of the first one
            if stop.args and stop.args[0] == "timeout":
                job.retry("stopped after its timeout of %g s" % job.timeout, group="timeout")
            else:
                job.release()
        except Retry as verdict:
            job._settle("retry", **verdict.fields)
        except Fail as verdict:
            job._settle("fail", **verdict.fields)
        except Release as verdict:
            job._settle("release", **verdict.fields)
        except Unknown as verdict:
            job._settle("unknown", **verdict.fields)
        except TooLong:
            raise
        except Exception as error:
            import traceback
            inner = error.__traceback__
            while inner and inner.tb_frame.f_code.co_filename == wrapped.__code__.co_filename:
                inner = inner.tb_next  # the way to the function is not its
            text = "".join(traceback.format_exception(type(error), error, inner))
            if job.settled:
                sys.stderr.write(text)
            (_remedies.get(job.klass) or _Remedy(None, ())).settle(job, error, text[-TRACEBACK_TAIL:])
        else:
            job.ack()

    def begin(self, job: Job, interrupt: bool) -> None:
        self.job = job
        if interrupt and self.signals:
            self.interrupt = True
            fcntl.fcntl(self.source, fcntl.F_SETFL, self.flags | os.O_ASYNC)
            self.look()  # at what came before the signal was switched on

    def end(self) -> None:
        self.leave_fork()
        self.interrupt = False
        self.job = None
        if self.signals:
            fcntl.fcntl(self.source, fcntl.F_SETFL, self.flags)

    def leave_fork(self) -> None:
        """Ends a process that a function forked and let come back: input and verdicts are not its."""
        if os.getpid() == self.pid:
            return
        error = sys.exc_info()[1]
        try:
            if isinstance(error, SystemExit):
                raise error
            if error is not None:
                import traceback
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            pass  # nobody reads
        os._exit(int(error is not None))

    def move(self, directory: str) -> None:
        """Makes directory the private one: a preloaded program's forks get theirs with the job."""
        if self.place and self.place == os.getcwd():
            os.chdir(directory)
        self.dir = os.environ["OARLOCK_DIR"] = os.environ["TMPDIR"] = directory
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]

    # Reading.

    def read(self) -> None:
        """Reads once, waiting if need be, and takes in the lines that are complete."""
        chunk = os.read(self.source, 1 << 16 if self.rest else 1 << 12)  # most lines are short
        if chunk and b"\n" not in chunk:
            self.rest.append(chunk)
            return
        lines = (b"".join(self.rest) + chunk).split(b"\n")
        last = lines.pop()
        self.rest = [last] if last else []
        if not chunk:  # end of file; a last line may do without its newline
            self.ended = self.stopping = True
            lines, self.rest = [last], []
        for line in lines:
            self.receive(line)

    def look(self) -> None:
        """Takes in what has arrived, without waiting. Called again from the
        signal handler in its own middle, it leaves the work to the outer call."""
        self.look_again = True
        while self.look_again and not self.looking:
            self.looking, self.look_again = True, False
            while not self.ended and self.poll.poll(0):
                self.read()
            self.looking = False
        self.stop_if_cancelled()

    def on_input(self, signum: int, frame: object) -> None:
        if self.job is not None:
            self.look()

    def on_drain(self, signum: int, frame: object) -> None:
        self.draining = True

    def stop_if_cancelled(self) -> None:
        """Raises Cancelled in a handler that is to be interrupted, once."""
        job = self.job
        if job is not None and job._reason and self.interrupt and not (self.sending or self.looking):
            if get_ident() == self.main:
                self.interrupt = False
                raise Cancelled(job._reason)

    def receive(self, line: bytes) -> None:
        try:
            message = _decode(line)
            verb = message["@"]
        except (ValueError, RecursionError, TypeError, KeyError) as error:
            self.refuse(line, error)
            return
        if verb == "job":
            self.arrived(message["run"], [Job(self, message, line)])
        elif verb == "batch":
            shared = {name: message.get(name) for name in ("timeout", "lease", "dir") if name in message}
            self.arrived(message["run"], [
                Job(self, dict(shared, **job), line, place) for place, job in enumerate(message["jobs"])])
        elif verb == "hello":
            self.limit = message.get("max_line") or self.limit
        elif verb == "cancel":
            self.cancel(message.get("run"), message.get("reason") or "canceled")
        elif verb == "draining":
            self.drain(message.get("run"))
        elif verb == "shutdown":
            self.stopping = True

    def arrived(self, run: str, jobs: List[Job]) -> None:
        self.batch = Batch(run, jobs, self)
        if self.whole is None:
            self.inbox.extend(jobs)
        else:
            self.whole.append(self.batch)

    def cancel(self, run: str, reason: str) -> None:
        if self.batch is not None and self.batch.run == run and len(self.batch) > 1:
            for job in self.batch:
                if not job.settled:
                    self.cancel(job.run, reason)
            return
        if self.whole is not None:
            for job in self.batch or ():
                if job.run == run:
                    job._reason = reason
            return
        if self.job is not None and self.job.run == run:
            self.job._reason = reason
        for waiting in self.inbox:
            if waiting.run == run:
                self.inbox.remove(waiting)
                waiting.release()
                return

    def drain(self, run: str) -> None:
        whole = self.batch is not None and self.batch.run == run
        for job in [self.job, *self.inbox, *(self.batch or ())]:
            if job is not None and (job.run == run or whole):
                job._draining = True

    def refuse(self, line: bytes, error: Exception) -> None:
        """Fails a job whose line this Python cannot read (nested too deep, say),
        rather than leave the supervisor waiting for it."""
        run = re.match(rb'\s*{\s*"@"\s*:\s*"(?:job|batch)"\s*,\s*"run"\s*:\s*("[^"\\]*")', line)
        if run is not None:
            self.send("fail", json.loads(run.group(1)), group="unreadable-job", raised=True,
                      message="%s: %s" % (_class_name(error), error))
        elif line.strip():
            sys.stderr.write("oarlock: skipped a line that is not a message: %.200r\n" % line)

    # Writing.

    def send(self, verb: str, run: Optional[str], **fields: Any) -> None:
        """Sends a status line; fields that are None are left out."""
        self.send_raw(_status_line(verb, run, fields))

    def send_whole(self, verb: str, line: bytes) -> None:
        """Sends a line that must arrive whole, or raises TooLong."""
        self.measure(verb, line)
        self.send_raw(line)

    def measure(self, verb: str, line: bytes) -> None:
        if len(line) - 1 > self.limit:
            raise TooLong(verb, len(line) - 1, self.limit)

    def send_raw(self, line: bytes) -> None:
        # Appending to a deque is atomic, and whoever holds the turn writes what
        # the others left: neither a thread nor the signal handler can get its
        # line into the middle of another.
        main = get_ident() == self.main
        if main:
            self.sending += 1
        try:
            self.outbox.append(self.lead + line)
            while self.outbox and self.turn.acquire(False):
                try:
                    while self.outbox:
                        _write(self.status, self.outbox.popleft())
                finally:
                    self.turn.release()
        finally:
            if main:
                self.sending -= 1
        self.stop_if_cancelled()


def _status_line(verb: str, run: Optional[str], fields: Dict[str, Any]) -> bytes:
    text = '{"@":' + _quote(verb)
    if run is not None:
        text += ',"run":' + _quote(run)
    for name, value in fields.items():
        if value is not None and name not in ("@", "run"):
            text += "," + _quote(name) + ":" + _encoder.encode(value)
    return (text + "}\n").encode("ascii")


def _write(fd: int, line: bytes) -> None:
    written = os.write(fd, line)
    while written < len(line):
        written += os.write(fd, line[written:])


def _encode(value: Any) -> bytes:
    """One line of ASCII. NaN and infinities are refused: they are not JSON."""
    return _encoder.encode(value).encode("ascii")


def _decode(line: bytes) -> Any:
    """What json.loads does with a line, by fewer calls."""
    text = line.decode("utf-8", "surrogatepass")
    if text[:1] == "{" and text[-1:] == "}":  # as Oarlock writes it: there is no space to be skipped
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)


def _member(text: str, name: str) -> str:
    """The value of a member of a JSON object, as it is written there."""
    decode, gap = json.JSONDecoder().raw_decode, re.compile(r"[\s,:]*")
    found, at = "null", text.index("{") + 1
    while True:
        at = gap.match(text, at).end()  # type: ignore[union-attr]
        if text[at] == "}":
            return found
        key, at = decode(text, at)
        at = gap.match(text, at).end()  # type: ignore[union-attr]
        start, (_, at) = at, decode(text, at)
        if key == name:
            found = text[start:at]


def _element(text: str, place: int) -> str:
    """An element of a JSON list, as it is written there."""
    decode, gap = json.JSONDecoder().raw_decode, re.compile(r"[\s,]*")
    at = text.index("[") + 1
    while True:
        start = gap.match(text, at).end()  # type: ignore[union-attr]
        _, at = decode(text, start)
        if place == 0:
            return text[start:at]
        place -= 1


def _class_name(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return kind.__module__ + "." + kind.__qualname__


_decoder = json.JSONDecoder()
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_quote = json.encoder.encode_basestring_ascii


# --- preload: a program that forks itself for each job ---------------------------

class _Factory:
    """Forks a child for each `fork` message on the control socket.

    The message brings the child's stdin, stdout, stderr and status descriptor.
    Replies are `forked` or `forkfail`, and later `exit` when the child has ended.
    """

    def __init__(self, control: int) -> None:
        import socket
        self.control = control
        self.socket = socket.socket(fileno=control)
        self.socket.setblocking(True)
        self.socket.set_inheritable(False)
        self.flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        self.room = socket.CMSG_SPACE(4 * 4)  # descriptors of four bytes
        self.rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        self.rest = b""
        self.fds: List[int] = []  # that came with it
        self.slots: Dict[int, int] = {}  # of the children that live, by pid
        self.caught: List[int] = []  # the signals that a child sets back
        self.null = os.open(os.devnull, os.O_RDWR)
        self.wake, self.wake_end = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self.wake_end, False)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)  # the byte in the pipe is what counts
        signal.set_wakeup_fd(self.wake_end, warn_on_full_buffer=False)

    def run(self) -> None:
        """Serves the socket until the supervisor closes it."""
        gc.disable()
        _rehearse()
        self.worker = _Worker()  # of every fork, which has less to make then
        gc.collect()
        gc.freeze()  # so that a collection in a child does not copy the program's pages
        self.caught = _caught_signals()
        threads = _threads()
        if threads > 1:
            sys.stderr.write("oarlock: %d threads are alive in the preloaded program; a lock that one of "
                             "them holds stays locked in every fork\n" % threads)
        _write(self.control, _status_line("hello", None, {
            "v": [1], "lib": LIBRARY, "caps": ["fork"], "threads": threads}))
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        poll.register(self.control, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.wake:
                    os.read(fd, 4096)
                    self.reap()
                elif not self.receive():
                    return

    # What follows runs once a fork. While forks live, each page of memory that it writes to is copied first, and
    # Python writes to what it merely looks at: so it calls little.

    def receive(self) -> bool:
        """Takes in one message with its descriptors; False at the end."""
        chunk, control, _, _ = self.socket.recvmsg(4096, self.room, self.flags)
        if not chunk:
            return False
        for level, kind, data in control:
            if (level, kind) == self.rights:
                self.fds += memoryview(data).cast("i")
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        for line in lines:
            message = _decode(line)
            if message.get("@") == "fork":
                fds, self.fds = self.fds, []
                self.fork(message, fds)
        return True

    def fork(self, message: Dict[str, Any], fds: List[int]) -> None:
        slot = message.get("slot", 0)
        try:
            for hook in _before_fork:
                hook()
            sys.stdout.flush()
            sys.stderr.flush()
            channels = _channels((self.control, self.wake, self.wake_end, *fds))
            pid = os.fork()
            if pid == 0:
                self.become_child(message, fds, channels)
            self.slots[pid] = slot
            _write(self.control, b'{"@":"forked","slot":%d,"pid":%d}\n' % (slot, pid))
        except Exception as error:
            _write(self.control, _status_line("forkfail", None, {
                "slot": slot, "message": "%s: %s" % (_class_name(error), error)}))
        finally:
            for fd in fds:
                os.close(fd)

    def become_child(self, message: Dict[str, Any], fds: List[int], channels: List[int]) -> NoReturn:
        """Turns the new fork into a child like any other, and serves its job."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in self.caught:
                set_signal(number, SIG_DFL)
            pthread_sigmask(SIG_SETMASK, [])
            os.setsid()
            source, out, err, status = fds
            os.dup2(out, 1)
            os.dup2(err, 2)
            # In place of the standard input of the program and of its channels. They are not closed: an object of
            # the program that still holds the number must not close a later file of the job by it.
            os.dup2(self.null, 0)
            for fd in channels:
                if fd != source and fd != status:
                    os.dup2(self.null, fd, False)
            _reseed()
            os.environ["OARLOCK_SLOT"] = str(message.get("slot", 0))
            for name, value in (message.get("env") or {}).items():
                os.environ[name] = value
            gc.enable()
            for hook in _after_fork:
                hook()
            _serve(self.worker, source, status, 1)
            code = 0
        except SystemExit as leave:
            code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
            if isinstance(leave.code, str):
                sys.stderr.write(leave.code + "\n")
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            # Not sys.exit: what the preloaded program does at its end is not ours to do.
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code & 0xFF)

    def reap(self) -> None:
        for pid in list(self.slots):  # by pid: the program may have processes of its own
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended == 0:
                continue
            _write(self.control, b'{"@":"exit","slot":%d,"pid":%d,"code":%d,"signal":%d,"core":%s,"utime":%f,"stime":%f}\n' % (
                self.slots.pop(pid), pid,
                os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
                os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
                b"true" if os.WCOREDUMP(status) else b"false", usage.ru_utime, usage.ru_stime))


def _rehearse() -> None:
    """Works jobs that nobody has put, by the code that works those of a fork.

    After a few calls Python has made of a function what it will be, knows what it looks
    up, and has room for its objects. Otherwise every fork would find all that out, in
    pages of memory that it has to copy first.
    """
    global _worker, _handlers, _fallback, _around
    kept, caught = (_worker, _handlers, _fallback, _around), signal.getsignal(SIGIO)
    _handlers, _fallback, _around = {}, (lambda job: None, True), []
    try:
        for _ in range(8):
            source, job_line, answer, status = *os.pipe(), *os.pipe()
            os.write(job_line, b'{"@":"job","run":"","data":{},"tags":[]}\n')
            _serve(_Worker(), source, status, 1)
            for fd in (source, job_line, answer, status):
                os.close(fd)
    finally:
        _worker, _handlers, _fallback, _around = kept
        signal.signal(SIGIO, SIG_DFL if caught is None else caught)


def _caught_signals() -> List[int]:
    """The signals that the program catches or ignores, which its forks must not."""
    # Python itself ignores these two, and its library counts on that.
    python = (signal.SIGPIPE, getattr(signal, "SIGXFSZ", None))
    return [int(number) for number in signal.valid_signals()
            if number not in python and signal.getsignal(number) not in (signal.SIG_DFL, None)]


def _channels(known: Iterable[int]) -> List[int]:
    """The sockets, pipes and the like of the program beyond the standard ones, some of which are known.

    To be called before the fork: after it, every page that this needs has to be
    copied first, which takes three times as long.
    """
    found = list(known)
    own = os.dup(found[0])  # the number that the listing itself will have
    os.close(own)
    for name in os.listdir("/dev/fd"):
        fd = int(name)
        if fd <= 2 or fd == own or fd in found:
            continue
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
            found.append(fd)
    return found


def _reseed() -> None:
    # Python sees to its own random numbers.
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading
        return threading.active_count()


# --- the way in ------------------------------------------------------------------

def serve() -> None:
    """Serves jobs until Oarlock has no more. Call it last, in the main thread."""
    # Taken out of the environment, for the programs that a job may start.
    fork_fd = os.environ.pop("OARLOCK_FORK_FD", "")
    status_fd = os.environ.pop("OARLOCK_STATUS_FD", "")
    if fork_fd:
        _Factory(int(fork_fd)).run()
        return
    source, status, lead, limit = _connect(status_fd)
    _serve(_Worker(lead), source, status, limit)


def batches() -> Iterator[Batch]:
    """Yields the messages of a pool, each with one job or more, until Oarlock has no more.

    For mode `reuse`, in the main thread. When the loop goes on, what has no verdict is
    complete. Nothing interrupts it: where batch.stopping, come to an end. An exception
    that leaves the loop ends the process, and then none of several jobs is blamed, but
    each comes again with fewer others.
    """
    global _worker
    if os.environ.get("OARLOCK_FORK_FD"):
        sys.exit("oarlock.batches() is for mode = \"reuse\"; with preload, let functions have the jobs (oarlock.job)")
    source, status, lead, _ = _connect(os.environ.pop("OARLOCK_STATUS_FD", ""))
    _worker = _Worker(lead)
    _worker.connect(source, status)
    return _worker.batches()


def _connect(status_fd: str) -> Tuple[int, int, bytes, int]:
    """Takes the input from the program, and returns it with the descriptor for status lines,
    what stands before each of them, and whether there is only one job."""
    if os.isatty(0):
        sys.exit("This is a worker: Oarlock starts it and writes jobs to its stdin. To try it by hand:\n"
                 "  oarlock try --klass NAME --job '{}' -- python3 " + sys.argv[0])
    source = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    limit = 1 if os.environ.get("OARLOCK_MODE") == "once" else 0
    if status_fd:
        os.set_inheritable(int(status_fd), False)
        return source, int(status_fd), b"", limit
    # On stdout somebody's unfinished line may stand in front of ours.
    return source, 1, b"\n", limit


def _serve(worker: _Worker, source: int, status: int, limit: int) -> None:
    global _worker
    _worker = worker
    worker.connect(source, status)
    worker.serve(limit)
