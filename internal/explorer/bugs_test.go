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
