package explorer

import "testing"

// replay runs a schedule some times, as goroutines do not take the same turns each time.
func replay(t *testing.T, s Schedule) {
	t.Helper()
	for range 3 {
		if found, _ := Run(t, s); found != nil {
			t.Fatalf("%v\n%v\n%s", found, s, found.Log)
		}
	}
}

// What follows are schedules that Shrink has left of longer ones, each under a rule that was broken on purpose: without the
// rule it fails. They keep the explorer's eyes open, too.

// Without the contiguity check, what is in flight would be committed behind a rollback, beyond rows that are gone.
func TestNothingIsCommittedAcrossARollback(t *testing.T) {
	replay(t, Schedule{Seed: 5004, Partitions: 1, Events: []Event{
		{Produce, 0, 2}, {Start, 0, 0}, {Pass, 0, 2401}, {Rollback, 0, 1},
	}})
}

// A person answers while a process that has just seen the reason to ask is still ending.
func TestAnswerWhileTheOneWhoAsksEnds(t *testing.T) {
	replay(t, Schedule{Seed: 200009, Partitions: 1, Foreign: true, Events: []Event{
		{Produce, 0, 8}, {Start, 0, 3}, {Pass, 0, 100}, {Rollback, 1, 1}, {Pass, 0, 21}, {Answer, 2, 0},
	}})
}

// A commit's answer is lost, it is rolled back before anybody has looked, and it expires with its files: they must not be
// used again.
func TestFilesOfACommitThatWasUndoneAreNotUsedAgain(t *testing.T) {
	replay(t, Schedule{Seed: 1, Partitions: 1, Events: []Event{
		{Produce, 0, 9}, {Start, 0, 0}, {Pass, 0, 400}, {Undo, 0, 2}, {Produce, 0, 8}, {Pass, 0, 3000}, {Produce, 0, 4},
	}})
}

// Found by a seed, once in some fifteen runs of it: a process that settles the WAL looks for the files of a commit in the table
// as it was loaded, while that commit is rolled back and expires with its files. It asked a person for a file that nothing
// named any more.
func TestWALIsSettledWhileACommitIsRolledBackAndExpires(t *testing.T) {
	replay(t, Schedule{Seed: 300113, Partitions: 1, Conflicts: true, Events: []Event{
		{Produce, 0, 19}, {Start, 0, 3}, {Start, 2, 7}, {Pass, 0, 11678}, {Produce, 1, 2}, {Pass, 0, 77},
		{Take, 0, 1}, {Pass, 0, 14}, {Crash, 0, 33}, {Share, 2, 3}, {Pass, 0, 13}, {Away, 1, 0},
		{Pass, 0, 2154}, {Back, 0, 0}, {Pass, 0, 53}, {Produce, 1, 7}, {Pass, 0, 68}, {Start, 0, 1},
		{Pass, 0, 103}, {Start, 1, 5}, {Pass, 0, 73}, {Rollback, 0, 5}, {Pass, 0, 20}, {Produce, 0, 2},
		{Pass, 0, 5}, {Expire, 0, 1}, {Produce, 0, 11}, {Pass, 0, 29}, {Take, 2, 1}, {Pass, 0, 34},
		{Produce, 0, 11}, {Pass, 0, 126}, {AddColumn, 1, 0}, {Pass, 0, 121}, {OldProperty, 2, 2},
	}})
}

// Found by a seed: an expiry went past a compaction's snapshot, and what stayed below looked rolled back to another engine's,
// which then deleted a file that is in use.
func TestAnExpiryLeavesNoGap(t *testing.T) {
	replay(t, Schedule{Seed: 1, Partitions: 1, Expiring: true, Events: []Event{
		{Produce, 0, 14}, {Start, 0, 0}, {Pass, 0, 900}, {Replace, 0, 0}, {Produce, 1, 13}, {Pass, 0, 15268}, {Expire, 1, 0},
	}})
}

// Found by a seed: an expiry took off the snapshot that alone told of a cherry-pick, and another engine's deleted the files of the
// one it was picked from.
func TestAnExpiryKeepsWhatWasPicked(t *testing.T) {
	replay(t, Schedule{Seed: 169426119860543, Partitions: 1, Expiring: true, Events: []Event{
		{Produce, 0, 14}, {Start, 0, 0}, {Pass, 0, 355}, {Rollback, 0, 1}, {CherryPick, 0, 0}, {Answer, 0, 0},
		{Pass, 0, 1000}, {Produce, 0, 14}, {Pass, 0, 5000}, {Expire, 0, 0},
	}})
}

// Found by a seed: a batch from before a rewind and one from after it came into one group, as the branch was set forward again. The
// second was acknowledged before the first, which covers it, had landed.
func TestNothingIsAcknowledgedForAGroupThatHasNotLanded(t *testing.T) {
	replay(t, Schedule{Seed: 210862679259223, Partitions: 3, Events: []Event{
		{Start, 2, 7}, {Pass, 0, 475}, {Produce, 0, 4}, {Pass, 0, 1478}, {Produce, 0, 9}, {Rollback, 0, 1},
		{Pass, 0, 63}, {CherryPick, 0, 0}, {Answer, 0, 0},
	}})
}
