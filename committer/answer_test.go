package committer

import (
	"slices"
	"testing"
)

// A person's answer for one topology leaves what the table held of another in doubt: it is not taken for none.
func TestAnAnswerForOneTopologySpeaksForNoOther(t *testing.T) {
	p := newPair(t, nil)
	for _, topology := range []string{"a", "b"} {
		r := p.start(p.with(Config{Topology: topology}), newLog())
		p.want(r.submit("w", 1, p.bad(topology, rng(0, 0, 10))), Landed)
		r.emptied()
		r.end()
	}
	p.rej.foreign()
	p.rej.foreign()
	p.rej.expire()
	p.rej.loseLog()
	one, two := p.committer(p.with(Config{Topology: "a"}), nil), p.committer(p.with(Config{Topology: "b"}), nil)
	if one.finishes() == nil || two.finishes() == nil {
		t.Fatal("it could be told")
	}
	p.must(one.AnswerRejects(t.Context(), true, nil))
	p.must(one.finishes())
	if two.finishes() == nil {
		t.Error("nobody was asked about the other one")
	}
	if got := p.rej.paths(); len(got) != 2 {
		t.Errorf("the rejects table has %v", got)
	}
	p.must(two.AnswerRejects(t.Context(), true, nil))
	p.must(two.finishes())
	// Both go on.
	for _, topology := range []string{"a", "b"} {
		r := p.start(p.with(Config{Topology: topology}), newLog())
		p.want(r.submit("w", 1, p.bad(topology, rng(0, 10, 20))), Landed)
		r.emptied()
		r.end()
	}
	if got := slices.Compact(p.rej.paths()); len(got) != 4 || len(p.rej.paths()) != 4 {
		t.Errorf("in the end the rejects table has %v", p.rej.paths())
	}
}
