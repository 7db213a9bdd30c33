package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// promises are what the README promises under "What is promised", by the words a promise begins with. Short tests hold a promise in
// the gate, long ones in `make test-long`.
var promises = []struct{ words, short, long string }{
	{"A job that was put is run at least once",
		"TestRows/D1 TestRows/E1 TestListThroughLostReplies TestDoubtfulCallsThatDidNotRunAreSentAgain",
		"TestKillsDuring2000Jobs TestSoak"},
	{"Redis copies to its replicas afterwards",
		"TestPutTellsOfMissingReplicas TestPutWaitsForReplicas",
		"TestRows/F5"},
	{"Never two live attempts of one job",
		"TestRows/A14",
		"TestRows/A6 TestRows/E7 TestRows/D2"},
	{"A deploy, a reload or a restart costs no job a retry",
		"TestRows/A9 TestRows/A1 TestWhatEndingsMean",
		"TestDrainReloadRestartUnderLoad TestRecyclingAndRolling TestBadNewCode"},
	{"A recurring job with a schedule is put",
		"TestARunIsPutOnce TestThreeDaysAway TestChangesOfTheClock TestFilesAgree",
		"TestRecurringJobsOfTwoSupervisors TestAThousandCronsAtOnce TestCronCommandsBreakAtAnyCommand"},
	{"A broken worker burns no queue",
		"TestBadJobsDelayGoodOnesByNoMoreThanIsPromised TestBadJobsOfAnyPriorityDelayGoodOnesByNoMoreThanIsPromised TestAnOpenBreakerBurnsNoQueue " +
			"TestAnOpenBreakerTriesLongJobsOneAtATime TestAChildThatWentBadIsReplaced",
		"TestRows/B17 TestRows/J3"},
	{"A pool whose program is missing or cannot be started fails no job",
		"TestAMissingProgramFailsNoJobOfAQuietQueue TestAMissingProgramIsForgivenAgainOnceItRan " +
			"TestAClassThatOneSupervisorDoesNotKnowWaitsForTheOther",
		"TestRows/B18"},
	{"What somebody else breaks in Redis concerns that alone",
		"TestADamagedJobConcernsNobodyElse TestADamagedQueueConcernsNoOther TestDamagedCommonKeysStopNobody",
		"TestExchangeBreaksAtAnyCommand"},
	{"Nothing a child prints can break the conversation with it",
		"TestRows/C1 TestRows/C15 TestVisible TestFaults",
		""},
	{"Jobs of one priority are begun in the order in which they were put",
		"TestPutKeepsOrder TestJobsOfOnePutComeInTheirOrder TestTurnsKeepTheOrderOfAValue TestNoTenantStarvesTheOthers",
		"TestJobsRunInTheOrderOfPutting"},
	{"Of the jobs of one key one runs at a time",
		"TestJobsOfAKeyRunInOrder TestTurns TestTendSaysWhoseTurnsWentOn TestAllThatAChildSaysOfAJobIsPut TestRows/A23",
		"TestRows/A26"},
	{"No limit of rules is passed by those who keep to them",
		"TestGateModel TestRulesThatCannotBeRead TestRulesThatAreGone TestPlacesOfAnAttemptThatWasTakenAway TestRows/J8",
		"TestNoJobStartsOutsideOfItsWindow TestNobodyIsTakenOverOutsideOfItsWindow"},
	{"An answer to a job that waits for one counts once",
		"TestParkAndAnswer TestAnswers TestRows/A22",
		""},
	{"A command that decides, and does not, stops nothing else",
		"TestACommandThatNobodyHas TestARetryCommandThatDoesNotAnswer TestARetryCommandAndADrain",
		"TestB27ACommandThatDecidesWrongly"},
	{"A mistake of yours gets one clear sentence",
		"TestRunRefusesABadConfiguration TestScriptThatFailsAtOnce TestDataThatIsNoJSON TestRows/H1 TestRows/H2",
		"TestRedisAwayAtStart"},
	{"Who looks takes nothing from jobs.",
		"TestReadingNeverWrites TestSlowClientsHoldNoPlaces TestWebRefusesToBePublic TestProxy TestRows/W14",
		"TestRows/W9 TestWhatLookingCosts"},
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
	table, err := os.ReadFile("integration/faults_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range faultRow.FindAllStringSubmatch(string(table), -1) { // several variants are as short as the shortest
		if already, several := long["TestRows/"+row[1]]; !several || already {
			long["TestRows/"+row[1]] = row[2] == "whole"
		}
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
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

// faultRow is a row of the table of faults: its ID, and whether the gate runs it.
var faultRow = regexp.MustCompile(`\{"([A-Z]-?\d+)[^"]*", (short|whole),`)

// skipsFirst says whether a test's body has a statement of its own that skips the test: if testing.Short() { t.Skip("long: …") }, or long(t, …).
func skipsFirst(body *ast.BlockStmt) bool {
	for _, statement := range body.List {
		if call, ok := statement.(*ast.ExprStmt); ok {
			if call, ok := call.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "long" {
					return true
				}
			}
		}
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
