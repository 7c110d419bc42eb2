package protocol

import "slices"

// Place says how a table's positions were found.
type Place int

const (
	// Fresh says: the table has never held positions of the topology on this line.
	Fresh Place = iota + 1
	// AtSnapshot says: in the summary of a snapshot.
	AtSnapshot
	// AtProperty says: in the table property.
	AtProperty
	// Older says: Need must be looked for in earlier metadata files; add what they tell and ask again, or set LogRead.
	Older
	// Stop says: nobody but a person can tell.
	Stop
)

// Reason says why a person is asked.
type Reason int

const (
	// Expired says: the line ends at a snapshot that has expired, and nothing tells what was held there.
	Expired Reason = iota + 1
	// RolledBack says: the property has the topology and the line does not: the branch was set back to before its first commit.
	RolledBack
	// CherryPicked says: rows of the topology came onto the branch without their positions.
	CherryPicked
	// Doubted says: a commit by another topology, or a person's answer for another, found this one unclear and said so.
	Doubted
)

// Found is the answer to the question where a topology stands.
type Found struct {
	Place Place
	// Value is the newest value on the line, the one to carry every topology's positions forward from; also on Fresh and
	// Stop, and empty where there is none.
	Value string
	// Snapshot is where Value lies; Instance and Topology are who wrote it. 0 where the property told.
	Snapshot           int64
	Instance, Topology string
	// Above is the number of snapshots on the branch above it.
	Above int
	// Need is the snapshot looked for, on Older; on Stop the one that could not be found.
	Need int64
	Why  Reason
	// Doubts are topologies that the next value must mark as unclear, or the next commit would hide the reason to ask:
	// those that the property knows and the line does not, and those whose rows were cherry-picked.
	Doubts []string
}

// Find tells where a topology stands on a branch. Every value is complete: a commit carries forward the positions of all
// topologies from its base. So the first value that the walk meets decides.
//
// The property counts only where it names the very snapshot at which the walk ends. That it is younger than the end
// proves nothing: rolled back, then another engine's commit, then expiry, and the property of a snapshot that is gone
// looks like that of an ancestor (its rows would be taken for there, and lost).
func Find(h *History, topology string) Found {
	f := Found{}
	if h.headless() && h.Snapshots[*h.Head].Value == "" {
		if h.Own != nil {
			f.Place, f.Value = AtProperty, h.Own.Value
		}
		return f.conclude(h, topology, true)
	}
	var picked []int64
	for id := h.Head; id != nil; {
		s, ok := h.Snapshots[*id]
		if !ok {
			if p := h.named(*id); p != nil {
				f.Place, f.Value = AtProperty, p.Value
				break
			}
			f.Place, f.Need = Older, *id
			if h.LogRead {
				f.Place = Stop
			}
			break
		}
		if s.Value != "" {
			f.Place, f.Value, f.Snapshot = AtSnapshot, s.Value, s.ID
			f.Instance, f.Topology = s.Instance, s.Topology
			break
		}
		if s.PickedFrom != nil {
			picked = append(picked, *s.PickedFrom)
		}
		f.Above++
		id = s.Parent
	}
	if f.Place == Older {
		return f
	}
	for _, id := range picked {
		s, need := h.picked(id)
		switch {
		case need != 0 && !h.LogRead:
			return Found{Place: Older, Need: need}
		case need == 0 && s.CommitID != "":
			f.doubt(s.Topology)
			if s.Topology == topology {
				f.Why = CherryPicked
			}
		}
	}
	return f.conclude(h, topology, false)
}

// picked gives the snapshot whose rows came onto the branch: what was cherry-picked may itself have been. need is the one
// that would have to be known to tell.
func (h *History) picked(id int64) (s Snapshot, need int64) {
	for range len(h.Snapshots) + 1 { // whatever the summaries say, it ends
		s, ok := h.Snapshots[id]
		if !ok {
			return s, id
		}
		if s.PickedFrom == nil {
			return s, 0
		}
		id = *s.PickedFrom
	}
	return s, 0
}

// Search finds where a topology stands, reading as much of the table's past as that takes: older gives what the next
// earlier metadata file tells, none where that file is gone, and false at the end of the log. What it tells is added to h.
func Search(h *History, topology string, older func() (snapshots []Snapshot, ok bool, err error)) (Found, error) {
	for {
		f := Find(h, topology)
		if f.Place != Older {
			return f, nil
		}
		for {
			if _, ok := h.Snapshots[f.Need]; ok || h.LogRead {
				break
			}
			snapshots, ok, err := older()
			if err != nil {
				return f, err
			}
			h.LogRead = !ok
			for _, s := range snapshots {
				if _, ok := h.Snapshots[s.ID]; !ok {
					s.Retained = false
					h.Snapshots[s.ID] = s
				}
			}
		}
	}
}

// named gives the property that was written by the commit of this very snapshot.
func (h *History) named(id int64) *Property {
	if h.Own != nil && h.Own.Snapshot == id {
		return h.Own
	}
	for i := range h.Others {
		if h.Others[i].Snapshot == id {
			return &h.Others[i]
		}
	}
	return nil
}

// conclude turns the value that the walk met, if any, into the answer for one topology.
func (f Found) conclude(h *History, topology string, headless bool) Found {
	known, doubted := h.list(f.Value)
	var property []string
	if h.Own != nil && !headless {
		p, d := h.list(h.Own.Value)
		property = append(p, d...)
	}
	for _, t := range property {
		if !slices.Contains(known, t) && !slices.Contains(doubted, t) {
			f.doubt(t)
		}
	}
	switch {
	case f.Why == CherryPicked:
		f.Place = Stop
	case slices.Contains(known, topology):
	case slices.Contains(doubted, topology):
		f.Place, f.Why = Stop, Doubted
	case slices.Contains(property, topology):
		if f.Place == Stop {
			f.Why = Expired
		} else {
			f.Place, f.Why = Stop, RolledBack
		}
	case f.Place == Stop && h.elsewhere(topology):
		f.Why = Expired
	default:
		f.Place = Fresh
	}
	return f
}

// elsewhere says that the topology may have committed to what is now lost from sight. A property lists every topology that
// ever committed to its branch, so one that no property knows never did, unless somebody took the property away: then
// positions in any snapshot are a reason to ask.
func (h *History) elsewhere(topology string) bool {
	if h.NoProperty {
		return true
	}
	for _, p := range h.Others {
		known, doubted := h.list(p.Value)
		if slices.Contains(known, topology) || slices.Contains(doubted, topology) {
			return true
		}
	}
	if h.Own != nil {
		return false
	}
	for _, s := range h.Snapshots {
		if s.Value != "" {
			return true
		}
	}
	return false
}

func (h *History) list(value string) (known, doubted []string) {
	if value == "" {
		return nil, nil
	}
	return h.Topologies(value)
}

func (f *Found) doubt(topology string) {
	if topology != "" && !slices.Contains(f.Doubts, topology) {
		f.Doubts = append(f.Doubts, topology)
	}
}
