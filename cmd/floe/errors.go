package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/writer"
)

// isConfigError says that the configuration is wrong: exit code 2.
func isConfigError(err error) bool {
	var one *config.Error
	var all config.Errors
	var bad *configError
	return errors.As(err, &one) || errors.As(err, &all) || target.ConfigError(err) != nil || errors.As(err, &bad)
}

// configError is a configuration that a package below has refused.
type configError struct {
	file string
	err  error
}

func (e *configError) Error() string { return e.file + ": " + e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// explain is what a person reads: the error, and what to do where the error itself does not say it.
func explain(err error) string {
	msg := strings.TrimSpace(plainly(err).Error())
	if hint := hintFor(err); hint != "" && !strings.Contains(msg, hint) {
		msg = strings.TrimSuffix(msg, ".") + ". " + hint
	}
	return msg
}

// plainly gives an error that waiting will not mend without what stands around it: it was written to be read by itself,
// and the rest tells only where floe was when it met it.
func plainly(err error) error {
	var bad *configError
	var fatal *source.FatalError
	if !errors.As(err, &bad) && errors.As(err, &fatal) {
		return fatal
	}
	return err
}

// hintFor says what to do about errors that come from below floe.
func hintFor(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	var path *fs.PathError
	var bad *writer.BadRecord
	switch {
	case errors.As(err, &bad):
		return fmt.Sprintf("To skip it: floe positions set CONFIG %s=%d", bad.Partition, bad.Position+1)
	case errors.As(err, &dns):
		return fmt.Sprintf("No host is named %s: correct the address.", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens at that address: start the service, or correct the address."
	case errors.Is(err, os.ErrPermission) && !strings.Contains(err.Error(), "permissions"):
		return "The user that floe runs as may not do that: change the permissions or the path."
	case strings.Contains(err.Error(), "; choose another"):
		return "" // it says what to do
	case errors.Is(err, syscall.ENOTDIR):
		return "A file is there where a folder should be: correct the path, or move the file away."
	case errors.As(err, &path) && errors.Is(err, os.ErrNotExist):
		return "That folder can't be made or used: correct the path."
	case errors.Is(err, syscall.EROFS):
		return "That file system is read-only: choose another path."
	case errors.Is(err, syscall.ENOSPC):
		return "The disk is full: make room and start again, nothing is lost."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "There was no answer in time: see whether the service is up and reachable."
	}
	return ""
}
