package integration

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
)

// fault is a row of FAULTS.md. That page says what goes wrong and what must hold.
type fault struct {
	name  string // the row's ID, and which variant of it
	short bool   // the gate runs it, too
	rig   rigOptions
	run   func(t *testing.T, r *rig)
}

// id is the fault's row.
func (f fault) id() string {
	id, _, _ := strings.Cut(f.name, " ")
	return id
}

const (
	short = true
	whole = false

	calm = 20 * time.Second // locks of rows that do not wait for one to expire: a busy machine loses none
)

// faults are the rows that the whole program shows. Of each section some are short: the cheapest, and those that keep a promise of the README.
func faults() []fault {
	hang := slices.Repeat([]any{"hang"}, 8)
	preloaded := pool{mode: "preload", worker: "first-never-ends.py"}
	fresh := pool{mode: "once", worker: "leaves-on-term.sh"}
	const ahead = 100 * time.Millisecond
	return []fault{
		{"A1", short, rigOptions{lock: calm}, killedAndRestarted(syscall.SIGKILL)},
		{"A2", whole, rigOptions{}, supervisorKilledForGood},
		{"A3", whole, rigOptions{proxy: true, lock: calm}, killedBeforeTheSettle},
		{"A4", short, rigOptions{proxy: true, lock: calm}, killedBeforeTheReply},
		{"A5", whole, rigOptions{}, pausedWithinTheLease},
		{"A6", whole, rigOptions{proxy: true}, pausedBeyondTheLock},
		{"A7", whole, rigOptions{}, pausedAlone},
		{"A8", whole, rigOptions{}, drain},
		{"A9", short, rigOptions{lock: calm}, drainTimesOut},
		{"A10 Redis answers", short, rigOptions{lock: calm}, secondStopSignal(false)},
		{"A10 Redis is silent", short, rigOptions{lock: calm}, secondStopSignal(true)},
		{"A11", whole, rigOptions{}, killedAndRestarted(syscall.SIGABRT)},
		{"A13", whole, rigOptions{}, binaryReplaced},
		{"A14", short, rigOptions{lock: calm}, equalNames},
		{"A15", whole, rigOptions{}, childrenGoFirst},
		{"A16", whole, rigOptions{}, nobodyReadsTheLog},
		{"A17", whole, rigOptions{}, putAgainWhileRunning},
		{"A18", whole, rigOptions{}, takenBackWhileHanging},
		{"A19", short, rigOptions{lock: 8 * time.Second}, pausedInEveryWay},
		{"A20 reused, supervisor first", whole, rigOptions{lock: calm}, toldToEndTogether(pool{}, 0, hang...)},
		{"A20 reused, children first", whole, rigOptions{lock: calm}, toldToEndTogether(pool{}, ahead, hang...)},
		{"A20 preloaded, supervisor first", whole, rigOptions{lock: calm}, toldToEndTogether(preloaded, 0, hang...)},
		{"A20 preloaded, children first", whole, rigOptions{lock: calm}, toldToEndTogether(preloaded, ahead, hang...)},
		{"A20 once, supervisor first", whole, rigOptions{lock: calm}, toldToEndTogether(fresh, 0, 0, 0, 1, 65, 75, 99, 130, 143)},
		{"A20 once, children first", whole, rigOptions{lock: calm}, toldToEndTogether(fresh, ahead, 129, 129, 129, 130, 130, 143, 143, 143)},
		{"A21", whole, rigOptions{lock: time.Minute}, restartedInSteps},
		{"A22", short, rigOptions{lock: calm}, parkedAndAnsweredTwice},
		{"A23", short, rigOptions{lock: calm}, orderPerKeyUnderKills},
		{"A24", short, rigOptions{lock: calm}, aFailedJobHoldsItsKey},
		{"A25", short, rigOptions{lock: calm}, aVersionThatLacksAWord},
		{"A26", whole, rigOptions{proxy: true, lock: 5 * time.Second}, orderPerKeyThroughFaults},
		{"A27", whole, rigOptions{proxy: true, lock: 5 * time.Second, tcp: true}, orderPerKeyThroughAFailover},
		{"A28", whole, rigOptions{proxy: true, lock: 5 * time.Second}, orderPerKeyWhereClocksDisagree},

		{"B1", whole, rigOptions{lock: calm}, childKilled},
		{"B3 once", short, rigOptions{lock: calm}, saysNothing},
		{"B3 reuse", short, rigOptions{lock: calm}, leavesWithoutAVerdict},
		{"B4", short, rigOptions{lock: calm}, exitCodes},
		{"B5", short, rigOptions{lock: calm}, grandchildKeepsStdout},
		{"B6", whole, rigOptions{}, hangs("worker.py")},
		{"B7", whole, rigOptions{}, hangs("ignores-term.sh")},
		{"B11", whole, rigOptions{}, memoryGrows},
		{"B12", whole, rigOptions{}, memoryAtOnce},
		{"B13", whole, rigOptions{}, killedByTheKernelForMemory},
		{"B14 python", short, rigOptions{lock: calm}, escape("escapees.py")},
		{"B14 sh", short, rigOptions{lock: calm}, escape("escapees.sh")},
		{"B16", whole, rigOptions{}, orphans},
		{"B17", whole, rigOptions{}, crashLoopAtBoot},
		{"B18", whole, rigOptions{}, commandMissing},
		{"B26", whole, rigOptions{}, slowStarts},

		{"C1 python", short, rigOptions{lock: calm}, outputOfAnyKind("prints-anything.py")},
		{"C1 sh", short, rigOptions{lock: calm}, outputOfAnyKind("prints-anything.sh")},
		{"C2", whole, rigOptions{alone: true}, floodOfLines},
		{"C15", short, rigOptions{lock: calm}, payloadsComeOutAsTheyWentIn},

		{"D1", short, rigOptions{lock: calm}, redisKilled},
		{"D2", whole, rigOptions{}, redisAwayBeyondTheLock},
		{"D4", short, rigOptions{lock: calm}, scriptsFlushed},
		{"D5", whole, rigOptions{}, dataWiped},
		{"D6", whole, rigOptions{lock: 10 * time.Second}, redisPaused},
		{"D7", whole, rigOptions{lock: calm, redis: []string{"--lua-time-limit", "100"}}, disturbed(300, busyScript)},
		// Each command of the append-only file takes a few milliseconds to load.
		{"D8", whole, rigOptions{lock: 30 * time.Second, redis: []string{"--key-load-delay", "4000"}}, disturbed(400, redisLoading)},
		{"D9", short, rigOptions{}, tornAppendOnlyFile},
		{"D10", whole, rigOptions{redis: []string{"--appendonly", "no"}}, snapshotOnly},
		{"D11", whole, rigOptions{}, redisSilent},

		{"E1 one child", whole, rigOptions{proxy: true}, repliesOfTakeLost(1)},
		{"E1 ten children", short, rigOptions{proxy: true, lock: calm}, repliesOfTakeLost(10)},
		{"E2", whole, rigOptions{proxy: true}, repliesOfCompleteLost},
		{"E3", whole, rigOptions{proxy: true}, repliesOfRetryLost},
		{"E4", short, rigOptions{proxy: true, lock: calm}, repliesOfPutLost},
		{"E5", whole, rigOptions{proxy: true}, repliesTorn},
		{"E6", whole, rigOptions{proxy: true}, disturbed(1000, shortBlackHole)},
		{"E7", whole, rigOptions{proxy: true}, cutOff(faultproxy.Requests, faultproxy.Replies)},
		{"E8 requests", whole, rigOptions{proxy: true}, cutOff(faultproxy.Requests)},
		{"E8 replies", whole, rigOptions{proxy: true}, cutOff(faultproxy.Replies)},
		{"E9", whole, rigOptions{proxy: true}, connectionsReset},
		{"E10", whole, rigOptions{proxy: true, lock: 10 * time.Second}, slowNetwork},
		{"E11", whole, rigOptions{proxy: true}, connectionRefused},
		{"E12", whole, rigOptions{proxy: true, lock: 40 * time.Second}, manySupervisorsWait},
		{"E13", whole, rigOptions{proxy: true}, disturbed(1000, redisMoves)},
		{"E14", short, rigOptions{proxy: true}, noticesLost},

		{"F1", whole, rigOptions{lock: 10 * time.Second}, outOfMemory},
		{"F2", short, rigOptions{redis: []string{"--maxmemory-policy", "allkeys-lru"}}, evictionPolicy},
		{"F3", short, rigOptions{lock: calm}, jobMissingAtTheHead},
		{"F4", whole, rigOptions{lock: 10 * time.Second}, disturbed(1000, demoted)},
		{"F5", whole, rigOptions{proxy: true, lock: 10 * time.Second, tcp: true}, failoverToAReplicaBehind},
		{"F6", whole, rigOptions{lock: calm, disk: "8m"}, diskFull},
		{"F7 password", whole, rigOptions{lock: 10 * time.Second, password: password}, passwordChanged},
		{"F7 permission", whole, rigOptions{lock: 10 * time.Second}, rightTaken},
		{"F8", whole, rigOptions{lock: 10 * time.Second}, disturbed(1000, maxClients)},
		{"F10", short, rigOptions{lock: calm}, olderClientOnTheSameQueue},

		{"G1", short, rigOptions{lock: calm}, descriptorsExhausted},
		{"G2", whole, rigOptions{root: true, proxy: true}, forkFails},
		{"G3", whole, rigOptions{}, noRoom("G3", true)},
		{"G5", whole, rigOptions{}, noRoom("G5", false)},
		{"G6", whole, rigOptions{lock: 10 * time.Second, alone: true}, machineOverloaded},
		{"G7", whole, rigOptions{}, noTerminals},
		{"G8", whole, rigOptions{lock: 10 * time.Second}, littleMemory},
		{"G9", short, rigOptions{root: true, proxy: true, lock: calm}, noCgroup},
		{"G10", whole, rigOptions{}, processesUsedUp},
		{"G11", whole, rigOptions{alone: true, lock: calm}, veryManyChildren},
		{"G12", whole, rigOptions{}, scaledToAndFro},

		{"H1", short, rigOptions{lock: calm}, syntaxErrorOnReload},
		{"H2", short, rigOptions{lock: calm}, unknownKeyOnReload},
		{"H3 rename", short, rigOptions{lock: calm}, configurationReplaced("rename")},
		{"H3 symlink", short, rigOptions{lock: calm}, configurationReplaced("symlink")},
		{"H3 two steps", short, rigOptions{lock: calm}, configurationReplaced("two steps")},
		{"H4", whole, rigOptions{}, manyWrites},
		{"H5", whole, rigOptions{}, fileGoneForAWhile},
		{"H6", whole, rigOptions{}, poolRemoved},
		{"H7", whole, rigOptions{}, sizeChanges},
		{"H8", whole, rigOptions{}, commandChanged},
		{"H9", whole, rigOptions{}, reloadAndStop},
		{"H10", whole, rigOptions{}, devicesOfSlots},

		{"I-2", short, rigOptions{}, thiefWithAClockAhead},

		{"J1", short, rigOptions{lock: calm}, killsItsChild},
		{"J2", short, rigOptions{lock: calm}, killsItsSupervisor},
		{"J3", whole, rigOptions{}, oneBadClass},
		{"J4", whole, rigOptions{proxy: true, alone: true}, mixedStorm},
		{"J5", whole, rigOptions{lock: calm}, killsItsSupervisorBesideOthers},
		{"J8", short, rigOptions{proxy: true, lock: 5 * time.Second}, limitsThroughKills},

		{"S2", short, rigOptions{lock: calm}, hostileJobs},
		{"S13", short, rigOptions{lock: calm}, foreignQueues},
		{"S15", whole, rigOptions{root: true, lock: 10 * time.Second}, forkBomb},
		{"S26 mode", short, rigOptions{lock: calm}, controlSocket},
		{"S26 root", short, rigOptions{root: true, proxy: true, lock: calm}, rootAsksTheSupervisorOfAnotherUser},
		{"S27", short, rigOptions{lock: calm}, foreignHandsOnTheConfiguration},
		{"S30", short, rigOptions{root: true}, runningAsRoot},
		{"S31", short, rigOptions{lock: calm, password: password}, secretsStayOut},
		// A proxy's address can be reached by any user.
		{"S32 guard", short, rigOptions{root: true, proxy: true, lock: calm}, rightsOfAUnit("guard", "setsid")},
		{"S32 group", short, rigOptions{root: true, proxy: true, lock: calm}, rightsOfAUnit("group", "")},
		{"S33", short, rigOptions{root: true, proxy: true, lock: calm, password: password}, whoReadsThePassword},

		{"W6", whole, rigOptions{}, manySupervisors},
		{"W9", whole, rigOptions{lock: calm}, redisUnderThePages},
		{"W14", short, rigOptions{lock: calm}, slowAndHugeClients},
		{"W18", short, rigOptions{proxy: true, lock: calm}, health},
	}
}

// TestRows runs the rows of FAULTS.md that need the whole program: those that have to be alone, then all others beside each other.
func TestRows(t *testing.T) {
	rows := faults()
	for _, f := range rows {
		if f.rig.alone {
			f.test(t)
		}
	}
	t.Parallel()
	for _, f := range rows {
		if !f.rig.alone {
			f.test(t)
		}
	}
}

func (f fault) test(t *testing.T) {
	t.Run(f.name, func(t *testing.T) {
		if !f.short {
			long(t, "row "+f.id()+" of FAULTS.md")
		}
		row(t, f.id(), f.rig, f.run)
	})
}

// disturbed is a row that disturbs a supervisor at work: when that is over work is resumed, and no job is lost, run twice or pays a retry.
func disturbed(jobs int, disturb func(t *testing.T, r *rig)) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		r.put(t, jobs, work{MS: 20})
		r.begins(t, pool{}, 40+r.random.IntN(40))
		disturb(t, r)
		r.resumed(t, now())
		r.finish(t, allowed{})
	}
}

// last lets a fault last for as long as its row says. It is never a wait for an event.
func last(d time.Duration) { time.Sleep(d) }
