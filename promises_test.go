package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// promises are what the README promises under "What is promised", by the words a promise begins with. Short tests hold a promise in
// the gate, long ones in `make test-long`.
var promises = []struct{ words, short, long string }{
	{"A job that was put is run at least once", "TestD1RedisKilled TestE1RepliesOfTakeLost", "TestKillsDuring2000Jobs TestSoak"},
	{"Redis copies to its replicas afterwards", "TestPutTellsOfMissingReplicas", "TestPutWaitsForReplicas TestF5FailoverToAReplicaBehind"},
	{"Never two live attempts of one job", "TestA14EqualNames", "TestA6PausedBeyondTheLock TestE7LongBlackHole TestD2RedisAwayBeyondTheLock"},
	{"A deploy, a reload or a restart costs no job a retry", "TestA9DrainTimesOut TestA1SupervisorKilled", "TestDrainReloadRestartUnderLoad TestRecyclingAndRolling TestBadNewCode"},
	{"A recurring job with a schedule is put", "TestARunIsPutOnce TestThreeDaysAway TestChangesOfTheClock TestFilesAgree", "TestRecurringJobsOfTwoSupervisors TestAThousandCronsAtOnce TestCronCommandsBreakAtAnyCommand"},
	{"A broken worker burns no queue", "TestBadJobsDelayGoodOnesByNoMoreThanIsPromised TestAnOpenBreakerBurnsNoQueue", "TestB17CrashLoopAtBoot TestJ3OneBadClass"},
	{"A program that is missing (126, 127) fails no job", "TestAMissingProgramFailsNoJobOfAQuietQueue", "TestB18CommandMissing TestAClassThatOneSupervisorDoesNotKnowWaitsForTheOther"},
	{"What somebody else breaks in Redis concerns that alone", "TestADamagedJobConcernsNobodyElse TestADamagedQueueConcernsNoOther TestDamagedCommonKeysStopNobody", "TestExchangeBreaksAtAnyCommand"},
	{"Nothing a child prints can break the conversation with it", "TestOutputOfAnyKind TestPayloadsComeOutAsTheyWentIn", ""},
	{"Jobs of one priority are begun in the order in which they were put", "TestPutKeepsOrder", "TestJobsRunInTheOrderOfPutting"},
	{"Of the jobs of one key one runs at a time", "TestJobsOfAKeyRunInOrder TestTurns", "TestA23OrderPerKeyUnderKills TestA26OrderPerKeyThroughFaults"},
	{"No limit of rules is passed by those who keep to them", "TestGateModel TestRulesThatCannotBeRead TestRulesThatAreGone TestPlacesOfAnAttemptThatWasTakenAway", "TestJ8LimitsThroughKills TestNoJobStartsOutsideOfItsWindow TestNobodyIsTakenOverOutsideOfItsWindow"},
	{"An answer to a job that waits for one counts once", "TestParkAndAnswer TestAnswers", "TestA22ParkedAndAnsweredTwice"},
	{"A command that decides, and does not, stops nothing else", "TestACommandThatNobodyHas TestARetryCommandThatDoesNotAnswer TestARetryCommandAndADrain", "TestB27ACommandThatDecidesWrongly"},
	{"A mistake of yours gets one clear sentence", "TestRunRefusesABadConfiguration TestScriptThatFailsAtOnce TestDataThatIsNoJSON", "TestRedisAwayAtStart TestH1SyntaxErrorOnReload TestH2UnknownKeyOnReload"},
	{"Who looks takes nothing from jobs.", "TestReadingNeverWrites TestSlowClientsHoldNoPlaces TestWebRefusesToBePublic", "TestW9RedisUnderThePages TestW14SlowAndHugeClients TestWhatLookingCosts"},
}

// TestPromises holds the README to its tests: each promise has a short one, and each test that is named exists.
func TestPromises(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## What is promised\n")
	section, _, _ = strings.Cut(section, "\n## ")
	given := strings.Split(strings.Join(strings.Fields(strings.ReplaceAll(section, "*", "")), " "), " - ")
	given[0] = strings.TrimPrefix(given[0], "- ")
	if len(given) != len(promises) {
		t.Errorf("the README gives %d promises, the table has %d", len(given), len(promises))
	}
	tests := testsOfAll(t)
	for _, p := range promises {
		found := 0
		for _, words := range given {
			if strings.HasPrefix(words, p.words) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the README gives the promise %q %d times", p.words, found)
		}
		if p.short == "" {
			t.Errorf("no short test holds the promise %q", p.words)
		}
		for _, name := range strings.Fields(p.short + " " + p.long) {
			long, exists := tests[name]
			if !exists {
				t.Errorf("%s, which is to hold the promise %q, does not exist", name, p.words)
			} else if long && strings.Contains(p.short+" ", name+" ") {
				t.Errorf("%s, which is to hold the promise %q in the gate, runs in the long run only", name, p.words)
			}
		}
	}
}

// testsOfAll are the tests of all packages by name, and whether each begins by skipping under -short.
func testsOfAll(t *testing.T) map[string]bool {
	t.Helper()
	long := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				long[f.Name.Name] = skipsFirst(f.Body)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return long
}

// skipsFirst says whether a test's body has a statement of its own that skips the test: if testing.Short() { t.Skip(…) }.
func skipsFirst(body *ast.BlockStmt) bool {
	for _, statement := range body.List {
		branch, ok := statement.(*ast.IfStmt)
		if !ok || len(branch.Body.List) == 0 {
			continue
		}
		expr, ok := branch.Body.List[0].(*ast.ExprStmt)
		if !ok {
			continue
		}
		if call, ok := expr.X.(*ast.CallExpr); ok && len(call.Args) == 1 {
			if text, ok := call.Args[0].(*ast.BasicLit); ok && strings.HasPrefix(text.Value, `"long: `) {
				return true
			}
		}
	}
	return false
}
