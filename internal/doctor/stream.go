package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stormfloe/floe/source"
)

// stream judges where the topology stands in its log.
func (p *Patient) stream(r *Report) {
	if len(p.Looks) == 0 {
		return
	}
	look := p.Looks[len(p.Looks)-1]
	if look.Stop != nil {
		r.add(unclearPositions, "topology "+p.Topology, look.Stop.Reason, look.Stop.Hint)
	}
	if !look.Reached {
		return
	}
	bounds, lives := index(look.Bounds)
	remade := map[string][]source.Partition{}
	for _, q := range slices.SortedFunc(maps.Keys(look.Positions.At), compare) {
		next := look.Positions.At[q].Next
		b, ok := bounds[q]
		_, again := lives[spot{q.Topic, q.ID}]
		switch {
		case !ok && p.Subscribed != nil && !p.Subscribed(q.Topic):
			// The configuration does not read it any more; its positions stay.
		case !ok && again:
			remade[q.Topic] = append(remade[q.Topic], q)
		case !ok:
			r.add(partitionMissing, q.String(), fmt.Sprintf("the table stands at offset %d of it and the brokers have no such partition", next),
				"see whether source.kafka.brokers are the right ones, and who deleted the topic; take it out of source.kafka if it is to be gone")
		case next < b.First:
			r.add(positionGone, q.String(), fmt.Sprintf("the table wants offset %d next and the log begins at %d: the topic's retention, or somebody, has removed "+
				"%d records that the table does not hold", next, b.First, b.First-next),
				fmt.Sprintf("restore those records from elsewhere if they count; `floe positions set CONFIG %s=earliest` goes on with what is there. Lengthen the topic's retention", q))
		case next > b.Last:
			r.add(positionBeyond, q.String(), fmt.Sprintf("the table wants offset %d next and the log ends at %d: the log was cut off or made anew, or the brokers are others", next, b.Last),
				fmt.Sprintf("see whether source.kafka.brokers are the right ones, and what happened to the topic; `floe positions set CONFIG %s=earliest` reads what is there from its beginning", q))
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(remade)) {
		old := remade[topic]
		recreated(r, old, lives[spot{topic, old[0].ID}])
	}
}

// recreated tells of a topic whose partitions are there in another life.
func recreated(r *Report, old []source.Partition, now source.Partition) {
	was := old[0]
	what := fmt.Sprintf("the table stands in a topic with the id %s, and the topic there now has the id %s: it was deleted and made again", orNone(was.Incarnation), orNone(now.Incarnation))
	if now.Cluster != was.Cluster {
		what = fmt.Sprintf("the table stands in a topic of the cluster %s, and the brokers are of the cluster %s", orNone(was.Cluster), orNone(now.Cluster))
	}
	const most = 8
	var set []string
	for _, q := range old[:min(len(old), most)] {
		set = append(set, q.String()+"=earliest")
	}
	each := ""
	if len(old) > most {
		each = fmt.Sprintf(", and so on for each of its %d partitions,", len(old))
	}
	r.add(topicRecreated, was.Topic, what, fmt.Sprintf("what the table lacks of the old one can't be read any more; `floe positions set CONFIG %s`%s begins with the new one", strings.Join(set, " "), each))
}

// lag judges by two looks whether the table falls behind.
func (p *Patient) lag(r *Report) {
	if len(p.Looks) < 2 || !p.Looks[0].Reached || !p.Looks[1].Reached {
		return
	}
	a, b := p.Looks[0], p.Looks[1]
	apart := b.At.Sub(a.At)
	if apart <= p.Period {
		r.Skip(lagGrowing, "the looks are %s apart, and a record may be on its way for %s: give a longer --interval", round(apart), round(p.Period))
		return
	}
	before, _ := index(a.Bounds)
	after, _ := index(b.Bounds)
	var came, took, behind int64
	for q, now := range b.Positions.At {
		was, ok1 := a.Positions.At[q]
		from, ok2 := before[q]
		to, ok3 := after[q]
		if ok1 && ok2 && ok3 && now.Next <= to.Last {
			came += int64(to.Last - from.Last)
			took += int64(now.Next - was.Next)
			behind += int64(to.Last - now.Next)
		}
	}
	if took < 0 {
		r.Skip(lagGrowing, "the positions were set back between the looks")
		return
	}
	// What came within one period may still be on its way.
	onItsWay := float64(came) * p.Period.Seconds() / apart.Seconds()
	if float64(came-took) <= onItsWay {
		return
	}
	what := fmt.Sprintf("in %s the log grew by %d records and the table took %d; it is %d behind", round(apart), came, took, behind)
	do := "look at the log and /status of the running floe: a catalog or store that is slow, or too few writer.tasks, replicas or topic partitions"
	if took == 0 {
		do = "see whether `floe run` is running; its log and /readyz say why it stands still"
	}
	r.add(lagGrowing, "topology "+p.Topology, what, do)
}

// round leaves of a duration what a person reads.
func round(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// spot is a partition whatever its life.
type spot struct {
	topic string
	id    int32
}

func index(all []source.Bounds) (map[source.Partition]source.Bounds, map[spot]source.Partition) {
	out, lives := map[source.Partition]source.Bounds{}, map[spot]source.Partition{}
	for _, b := range all {
		out[b.Partition] = b
		lives[spot{b.Partition.Topic, b.Partition.ID}] = b.Partition
	}
	return out, lives
}

func compare(a, b source.Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Incarnation, b.Incarnation))
}

func orNone(id string) string {
	if id == "" {
		return "(none)"
	}
	return id
}
