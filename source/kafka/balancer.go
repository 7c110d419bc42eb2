package kafka

import (
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
)

// evenBalancer gives each member about as many partitions as the others, over all topics together: with kafka-go's own
// balancers, many topics of one partition each would all go to the first member. It is Java's round robin.
type evenBalancer struct{}

// ProtocolName implements kafka-go's GroupBalancer.
func (evenBalancer) ProtocolName() string { return "roundrobin" }

// UserData implements kafka-go's GroupBalancer.
func (evenBalancer) UserData() ([]byte, error) { return nil, nil }

// AssignGroups implements kafka-go's GroupBalancer. Each partition goes to the subscribed member that has the fewest.
func (evenBalancer) AssignGroups(members []kafkago.GroupMember, partitions []kafkago.Partition) kafkago.GroupMemberAssignments {
	out := kafkago.GroupMemberAssignments{}
	subscribed := map[string][]string{}
	load := map[string]int{}
	for _, m := range members {
		out[m.ID] = map[string][]int{}
		load[m.ID] = 0
		for _, t := range m.Topics {
			subscribed[t] = append(subscribed[t], m.ID)
		}
	}
	byTopic := map[string][]int{}
	for _, p := range partitions {
		byTopic[p.Topic] = append(byTopic[p.Topic], p.ID)
	}
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		ids := subscribed[topic]
		slices.Sort(ids)
		ids = slices.Compact(ids)
		if len(ids) == 0 {
			continue
		}
		parts := byTopic[topic]
		slices.Sort(parts)
		for _, p := range slices.Compact(parts) {
			least := slices.MinFunc(ids, func(a, b string) int { return load[a] - load[b] })
			out[least][topic] = append(out[least][topic], p)
			load[least]++
		}
	}
	return out
}
