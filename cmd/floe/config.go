package main

import (
	"flag"
	"fmt"

	"github.com/stormfloe/floe/internal/config"
)

func configCommand() *command {
	return &command{
		name:    "config",
		summary: "print a commented configuration to start from, or its JSON Schema for editors",
		usage:   "config example\n       floe config schema",
		help: `
example prints a configuration with every key and its default: keep what differs, and take out the rest.

schema prints the JSON Schema of configurations. An editor that knows it completes keys, shows what they mean, and marks what is
misspelt. Many editors find it by a first line such as

  # yaml-language-server: $schema=floe.schema.json
`,
		examples: `
floe config example > orders.yaml
floe config schema > floe.schema.json
`,
		run: runConfig,
	}
}

// exampleHead stands before the example.
const exampleHead = `# A configuration of floe run with every key, and its default where it has one. name, source.kafka.brokers and topics, catalog
# and table.name are needed; leave out what you do not change. "Below" is docs/configuration.md.
# ${VAR} and ${file:/path} bring in values from the environment and from files.

`

func runConfig(c *cli, cmd *command, args []string) error {
	rest, err := c.parse(cmd, flag.NewFlagSet(cmd.name, flag.ContinueOnError), args)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef(cmd, "example or schema is missing")
	case len(rest) > 1:
		return usagef(cmd, "%q is one argument too many", rest[1])
	}
	switch rest[0] {
	case "example":
		_, err = fmt.Fprint(c.stdout, exampleHead+string(config.Example()))
	case "schema":
		_, err = c.stdout.Write(config.Schema())
	default:
		return usagef(cmd, "%q is neither example nor schema", rest[0])
	}
	return err
}
