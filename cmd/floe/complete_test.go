package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormfloe/floe/internal/bench"
)

// bashCompletes is what the completion of bash makes of the words of a line, as readline takes it apart; the last is being written.
const bashCompletes = `
set -u
source <("$FLOE" completion bash)
complete -p floe >/dev/null || exit 1
COMP_WORDS=("$FLOE" "$@")
COMP_CWORD=$#
COMPREPLY=()
_floe "$FLOE" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
for word in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do printf '%s\n' "$word"; done
`

func TestBashCompletesALine(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	for _, name := range []string{"orders.yaml", "my orders.yml", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"conf", "old.yaml"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	configs := "conf\nold.yaml\norders.yaml\nmy orders.yml\n"
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"po"}, "positions\n"},
		{[]string{"re"}, "rejects\n"},
		{[]string{"help", "wa"}, "wal\n"},
		{[]string{"positions", ""}, "show\nset\nforget\n"},
		{[]string{"positions", "set", "--"}, "--all\n--json\n--yes\n--help\n"},
		{[]string{"positions", "show", "--"}, "--json\n--help\n"},
		{[]string{"positions", "--json", "s"}, "show\nset\n"},
		{[]string{"positions", "set", "--all", ""}, "earliest\nlatest\n"},
		{[]string{"positions", "set", "--all", "="}, "earliest\nlatest\n"},
		{[]string{"positions", "set", "--all", "=", "la"}, "latest\n"},
		{[]string{"positions", "set", "--all", "=", "latest", ""}, configs},
		{[]string{"positions", "set", "orders.yaml", "orders/0", "=", "3", ""}, ""},
		{[]string{"run", "or"}, "orders.yaml\n"},
		{[]string{"run", "--", ""}, configs},
		{[]string{"run", "orders.yaml", ""}, configs},
		{[]string{"validate", "--samples", "3", ""}, configs},
		{[]string{"validate", "orders.yaml", ""}, ""},
		{[]string{"rejects", "settle", "orders.yaml", ""}, "there\nmissing\n"},
		{[]string{"rejects", "list", "--l"}, "--limit\n"},
		{[]string{"config", ""}, "example\nschema\n"},
		{[]string{"completion", ""}, "bash\nzsh\nfish\n"},
		{[]string{"bench", "--codec", ""}, strings.Join(bench.Codecs(), "\n") + "\n"},
		{[]string{"bench", "--dir", ""}, "conf\nold.yaml\n"},
		{[]string{"bench", "--compare", "no"}, "notes.txt\n"},
		{[]string{"bench", "--records", ""}, ""},
		{[]string{"bench", "--nothing", "=", ""}, ""},
		{[]string{"fly", ""}, ""},
	} {
		cmd := exec.Command(bash, append([]string{"--norc", "-c", bashCompletes, "bash"}, c.words...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "FLOE="+os.Args[0], "LC_ALL=C")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if out, err := cmd.Output(); err != nil || stderr.Len() > 0 || string(out) != c.want {
			t.Errorf("%q: %v %s\n%s\nwant\n%s", c.words, err, &stderr, out, c.want)
		}
	}
}

// A flag that a command declares and no line of its usage names would never be completed, and help would not say what it belongs to.
func TestEveryFlagIsInTheUsageAndCompleted(t *testing.T) {
	for _, cmd := range commands() {
		fs := cmd.flags()
		if fs == nil {
			t.Errorf("%s declares no flags", cmd.name)
			continue
		}
		named := map[string]bool{}
		for _, l := range cmd.calls() {
			for flag := range l.flags {
				named[flag] = true
				if name := strings.TrimPrefix(flag, "--"); flag != "[flags]" && fs.Lookup(name) == nil {
					t.Errorf("%s: the usage names %s, which is not declared", cmd.name, flag)
				}
			}
			args := []string{}
			for _, slot := range l.slots {
				word, _, _ := strings.Cut(slot, "|")
				args = append(args, word)
			}
			for _, c := range cmd.flagNames(fs, args) {
				delete(named, c.word)
			}
			delete(named, "[flags]")
		}
		if len(named) > 0 {
			t.Errorf("%s: not completed: %v", cmd.name, named)
		}
	}
}

func TestEveryChoiceIsTaken(t *testing.T) {
	for _, name := range bench.Workloads() {
		if _, err := bench.WorkloadOf(name); err != nil {
			t.Error(err)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if a := call(t, "completion", shell); a.code != exitDone || !strings.Contains(a.out, "floe for "+shell) {
			t.Errorf("%s: %+v", shell, a)
		}
	}
}
