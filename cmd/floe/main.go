// Command floe writes Kafka topics into Apache Iceberg tables, exactly once.
//
//	floe demo                 the first minute: everything embedded, nothing to install
//	floe run CONFIG           the topology of a configuration, until it is ended
//	floe validate CONFIG      everything that can be known before a run
//	floe status CONFIG        what a running floe says of itself
//	floe doctor CONFIG        what is wrong with a topology, from table and topics, and what to do
//	floe positions show|set|forget  where the table stands, and the answer to every "stop and ask"
//	floe wal list|show        what a start would do with the notes of commits that may not have landed
//	floe config example|schema  a configuration to start from, and the JSON Schema of configurations
//	floe completion bash|zsh|fish  what makes a shell complete all this
//	floe bench                how fast it is on this machine, from Kafka to visible rows
//	floe version
//
// Each command has --help and, where it has output, --json. Exit codes: 0 done, 1 failed, 2 wrong usage or
// configuration. What a command has to say goes to stdout; progress, the log and errors go to stderr.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.LookupEnv))
}
