package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Env looks an environment variable up, like os.LookupEnv.
type Env func(name string) (value string, ok bool)

// maxSecretFile bounds what ${file:…} reads, in bytes.
const maxSecretFile = 1 << 20

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expander replaces the references in scalar values and remembers what it brought in.
type expander struct {
	env Env
	dir string // of the configuration, for relative paths
	// expanded is everything that came in: no error of this package shows it.
	expanded []string
	// secrets are those that must never print, later on either: files, passwords, the catalog's. A broker's name out of
	// a variable is none of them: an error that hides it helps nobody.
	secrets []string
}

// expand replaces ${VAR}, ${file:/path} and $$ in text. A dollar sign before anything else stands for itself. Its
// errors name the reference, never a value.
func (x *expander) expand(text string) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:i])
		rest := text[i+1:]
		switch rest[0] {
		case '$':
			b.WriteByte('$')
			text = rest[1:]
		case '{':
			ref, after, found := strings.Cut(rest[1:], "}")
			if !found {
				return "", fmt.Errorf("a ${ is never closed; write ${NAME} or ${file:/path}, and $$ for a dollar sign")
			}
			v, err := x.resolve(ref)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
			text = after
		default:
			b.WriteByte('$')
			text = rest
		}
	}
}

// resolve gives the value of one reference and remembers it as a secret.
func (x *expander) resolve(ref string) (string, error) {
	v, err := x.lookup(ref)
	if err == nil {
		x.expanded = remember(x.expanded, v)
		if strings.HasPrefix(ref, "file:") {
			x.secrets = remember(x.secrets, v)
		}
	}
	return v, err
}

func (x *expander) lookup(ref string) (string, error) {
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		return x.readFile(path)
	}
	if !variableName.MatchString(ref) {
		return "", fmt.Errorf("${%s} is neither ${NAME} (an environment variable) nor ${file:/path}; write $${ for a plain ${", ref)
	}
	v, ok := x.env(ref)
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write the value another way", ref)
	}
	return v, nil
}

func (x *expander) readFile(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("${file:} names no file; write ${file:/path}")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(x.dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return "", fmt.Errorf("the file %s of ${file:…} does not exist; make it, or correct the path", path)
	case err != nil:
		return "", fmt.Errorf("the file %s of ${file:…} can't be read: %w", path, plainPathError(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s of ${file:…} is not a file", path)
	case info.Size() > maxSecretFile:
		return "", fmt.Errorf("the file %s of ${file:…} has %d bytes; at most %d are read", path, info.Size(), maxSecretFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s of ${file:…} can't be read: %w", path, plainPathError(err))
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// remember keeps a value for redact. Very short ones would blank out half of every text.
func remember(known []string, v string) []string {
	if len(v) < 4 {
		return known
	}
	return append(known, v)
}

// plainPathError takes the path off an error whose sentence names it already.
func plainPathError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
