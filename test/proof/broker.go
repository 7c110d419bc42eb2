package main

import (
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// startBroker runs a Kafka broker in this process, for a soak that is given none.
func startBroker() (addr string, stop func(), err error) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ClusterID("proof"), kfake.GroupMinSessionTimeout(100*time.Millisecond))
	if err != nil {
		return "", nil, err
	}
	return c.ListenAddrs()[0], c.Close, nil
}
