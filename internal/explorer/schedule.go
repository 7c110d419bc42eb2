package explorer

import (
	"fmt"
	"strings"
)

// Op is a kind of event.
type Op int

// The kinds. I names a slot for a process, 0 to 2, and N is what the comment says.
const (
	// Produce appends N records.
	Produce Op = iota
	// Pass lets N milliseconds pass.
	Pass

	// Start starts a process of shape N in slot I, with the partitions that no process of its topology has.
	Start
	// Kill ends it at once, as SIGKILL does; another process of its topology gets its partitions.
	Kill
	// Stop ends it gracefully.
	Stop
	// Freeze holds it up at its next effect, as SIGSTOP does. Thaw lets it go on.
	Freeze
	Thaw
	// Crash kills it at its Nth effect from now.
	Crash
	// Take gives it partition N, which whoever had it loses at the same time.
	Take
	// Share gives it partition N, which whoever had it does not know to be lost: its session has run out.
	Share
	// Drop takes partition N from it.
	Drop

	// LoseAnswer applies its Nth next commit request, and the answer is lost.
	LoseAnswer
	// Conflict applies it, and answers that the base has moved: a proxy sent the request twice.
	Conflict
	// NotApplied loses the request.
	NotApplied
	// Delay holds the request back until Release, and answers with a timeout.
	Delay
	// Release applies what Delay holds back of the slot, of whichever life.
	Release
	// Undo applies its Nth next commit request, loses the answer, and sets the branch back before anybody has looked; where N is
	// even, the snapshot expires at once.
	Undo
	// Slow makes its Nth next effect take twelve seconds, longer than a request's deadline.
	Slow
	// FailIO makes its Nth next effect on the storage fail, without or (FailedIO) although it was applied.
	FailIO
	FailedIO
	// Tear kills it in the middle of its Nth next write. Cut makes half a data file of it, and tells nobody.
	Tear
	Cut
	// Lie tells it that its Nth next file was written, or deleted, and it was not.
	Lie

	// Away makes the catalog unreachable for everyone, until Back.
	Away
	Back
	// Replace commits what a compaction looks like to floe: the same rows in a snapshot without its keys.
	Replace
	// Rollback sets the branch to the Nth ancestor of its head; Forward to the Nth newest snapshot that is not on it.
	Rollback
	Forward
	// Expire removes all snapshots but the head and its N nearest ancestors.
	Expire
	// CherryPick puts the rows of a snapshot that was rolled back on the head.
	CherryPick
	// AddColumn, DropColumn and Respec evolve the table; N even partitions it by region, odd not at all.
	AddColumn
	DropColumn
	Respec
	// LoseProperty removes the positions property; OldProperty puts the value back that it had N changes ago.
	LoseProperty
	OldProperty
	// WipeWAL deletes all entries; Orphans deletes files that nothing refers to and that are older than is safe.
	WipeWAL
	Orphans
	// Recreate drops the table and makes it again.
	Recreate
	// Grow adds a partition to the topic.
	Grow
	// Answer has a person answer every topology that asks.
	Answer

	ops
)

var opNames = [ops]string{"Produce", "Pass", "Start", "Kill", "Stop", "Freeze", "Thaw", "Crash", "Take", "Share", "Drop",
	"LoseAnswer", "Conflict", "NotApplied", "Delay", "Release", "Undo", "Slow", "FailIO", "FailedIO", "Tear", "Cut", "Lie", "Away", "Back", "Replace",
	"Rollback", "Forward", "Expire", "CherryPick", "AddColumn", "DropColumn", "Respec", "LoseProperty", "OldProperty", "WipeWAL",
	"Orphans", "Recreate", "Grow", "Answer"}

func (o Op) String() string { return opNames[o] }

// Event is one step of a schedule.
type Event struct {
	Op   Op
	I, N int
}

func (e Event) String() string { return fmt.Sprintf("{%s, %d, %d}", e.Op, e.I, e.N) }

// Schedule is what a run is made of.
type Schedule struct {
	// Seed draws the latencies.
	Seed uint64
	// Partitions of the topic, at least 1.
	Partitions int
	// ByRegion partitions the table.
	ByRegion bool
	// Copy makes the process in slot 2 one of another topology on the same table.
	Copy bool
	// Foreign gives the table a snapshot of another engine before the first event, so that a rollback can go to before floe.
	Foreign bool
	// Conflicts makes the catalog's refusals those of a REST server instead of an SQL catalog's bare text.
	Conflicts bool
	// Expiring has each append of floe take off the table what may go: all but two snapshots.
	Expiring bool
	Events   []Event
}

// String is a literal of it, for a named test.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Schedule{Seed: %d, Partitions: %d", s.Seed, s.Partitions)
	for _, f := range []struct {
		name string
		on   bool
	}{{"ByRegion", s.ByRegion}, {"Copy", s.Copy}, {"Foreign", s.Foreign}, {"Conflicts", s.Conflicts}, {"Expiring", s.Expiring}} {
		if f.on {
			fmt.Fprintf(&b, ", %s: true", f.name)
		}
	}
	b.WriteString(", Events: []Event{")
	for i, e := range s.Events {
		if i%6 == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%v,", e)
	}
	b.WriteString("\n}}")
	return b.String()
}
