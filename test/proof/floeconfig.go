package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// setup is what the configuration of a round is made from.
type setup struct {
	name, topic, table string
	brokers            []string
	catalog            map[string]string
	session            time.Duration
	shape              Shape
}

// m is a level of a configuration.
type m = map[string]any

// configText is a configuration of floe run, as JSON, which is YAML. Everything is quick, so that much happens between two
// faults.
func configText(s setup) ([]byte, error) {
	writer := m{"tasks": s.shape.Tasks, "seal": m{"interval": s.shape.Seal.String()}}
	if len(s.shape.GroupBy) > 0 {
		writer["group_by"] = s.shape.GroupBy
	}
	create := m{
		"schema": []m{
			{"name": "part", "type": "int", "required": true}, {"name": "off", "type": "long", "required": true},
			{"name": "region", "type": "string"}, {"name": "payload", "type": "string"},
		},
		"properties": m{"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "20"},
	}
	if len(s.shape.PartitionBy) > 0 {
		create["partition_by"] = s.shape.PartitionBy
	}
	return json.MarshalIndent(m{
		"name": s.name,
		"source": m{"kafka": m{
			"brokers": s.brokers, "topics": []string{s.topic},
			"session_timeout": s.session.String(), "heartbeat_interval": (s.session / 10).String(),
			"rebalance_timeout": (2 * s.session).String(), "metadata_interval": "2s",
			"dial_timeout": "2s", "request_timeout": "5s", "fetch": m{"max_wait": "100ms"},
		}},
		"catalog":          s.catalog,
		"table":            m{"name": s.table, "create": create},
		"writer":           writer,
		"committer":        m{"interval": s.shape.Commit.String()},
		"http":             m{"listen": "127.0.0.1:0"},
		"memory":           fmt.Sprintf("%dMiB", memory>>20),
		"startup_timeout":  "30s",
		"shutdown_timeout": shutdownTimeout.String(),
	}, "", "  ")
}

// memory is floe's bound.
const memory = 64 << 20

// shutdownTimeout is how long floe may take to end gracefully.
const shutdownTimeout = 20 * time.Second

// writeConfig writes the configuration; it may hold the catalog's secrets.
func writeConfig(path string, s setup) error {
	data, err := configText(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
