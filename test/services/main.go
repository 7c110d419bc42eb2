// Services starts the real services that floe is tested with, for tests and for people:
//
//	go run ./test/services start kafka rest postgres
//	go run ./test/services start kafka s3 -- go test -tags cloud ./source/kafka ./wal
//	go run ./test/services get python
//
// start prints each address as NAME=VALUE, the name being that of the variable by which tests look for it, and ends everything
// on a signal. With a command behind -- it runs that with the variables set, and ends with its exit code. get prints the path
// of the Python with the independent readers, or variables that lead to the other engines. The services: kafka, cluster (three brokers), rest (and s3 with it), s3 (and
// Glue), postgres, hive, azure, gcs, registry. Everything is got from package registries, see package internal/services.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/stormfloe/floe/internal/services"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "services:", err)
	}
	os.Exit(code)
}

const usage = "services start [--dir DIR] NAME... [-- COMMAND...], or services get python|engines"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, err error) {
	switch {
	case len(args) == 2 && args[0] == "get" && args[1] == "python":
		path, err := services.Python(ctx)
		if err != nil {
			return 1, err
		}
		_, err = fmt.Fprintln(stdout, path)
		return 0, err
	case len(args) == 2 && args[0] == "get" && args[1] == "engines":
		e, err := services.GetEngines(ctx)
		if err != nil {
			return 1, err
		}
		_, err = fmt.Fprintln(stdout, strings.Join(e.Environment(), "\n"))
		return 0, err
	case len(args) < 2 || args[0] != "start":
		return 2, errors.New(usage)
	}
	fs := flag.NewFlagSet("start", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("dir", "", "a folder for data and logs, which are left there; default one that is removed at the end")
	if err := fs.Parse(args[1:]); err != nil {
		return 2, errors.New(usage)
	}
	names, command := fs.Args(), []string(nil)
	if i := slices.Index(names, "--"); i >= 0 {
		names, command = names[:i], names[i+1:]
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "floe-services-"); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	s := services.New(*dir, stderr)
	defer s.Stop()
	var env []string
	for _, name := range names {
		more, err := start(ctx, s, name)
		if err != nil {
			return 1, err
		}
		env = append(env, more...)
	}
	if command == nil {
		if _, err := fmt.Fprintln(stdout, strings.Join(env, "\n")); err != nil {
			return 1, err
		}
		<-ctx.Done()
		return 0, nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), os.Stdin, stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err = cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return max(1, ended.ExitCode()), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// start starts one service and gives the variables that tell of it.
func start(ctx context.Context, s *services.Services, name string) ([]string, error) {
	if err := services.Get(ctx, name); err != nil {
		return nil, err
	}
	one := func(variable, value string, err error) ([]string, error) {
		return []string{variable + "=" + value}, err
	}
	switch name {
	case "kafka":
		k, err := s.Kafka(ctx)
		if err != nil {
			return nil, err
		}
		return []string{"FLOE_TEST_KAFKA=" + k.Plain, "FLOE_TEST_KAFKA_SASL=" + k.SASL, "FLOE_TEST_KAFKA_OAUTH=" + k.OAuth,
			"FLOE_TEST_KAFKA_TLS=" + k.TLS, "FLOE_TEST_KAFKA_MTLS=" + k.MTLS, "FLOE_TEST_KAFKA_CA=" + k.Certificates.CA}, nil
	case "cluster":
		c, err := s.Cluster(ctx)
		if err != nil {
			return nil, err
		}
		return []string{"FLOE_TEST_KAFKA_CLUSTER=" + strings.Join(c.Brokers, ",")}, nil
	case "rest":
		url, err := s.REST(ctx)
		if err != nil {
			return nil, err
		}
		s3, err := s.S3(ctx)
		if err != nil {
			return nil, err
		}
		return []string{"FLOE_TEST_REST=" + url, "FLOE_TEST_S3=" + s3.URL}, nil
	case "s3":
		s3, err := s.S3(ctx)
		if err != nil {
			return nil, err
		}
		return []string{"FLOE_TEST_S3=" + s3.URL}, nil
	case "postgres":
		uri, err := s.Postgres(ctx)
		return one("FLOE_TEST_POSTGRES", uri, err)
	case "hive":
		uri, err := s.Hive(ctx)
		return one("FLOE_TEST_HIVE", uri, err)
	case "registry":
		url, err := s.Registry(ctx)
		return one("FLOE_TEST_REGISTRY", url, err)
	case "azure", "gcs":
		f := s.Azure
		if name == "gcs" {
			f = s.GCS
		}
		keys, err := f(ctx)
		if err != nil {
			return nil, err
		}
		var out []string
		for k, v := range keys {
			out = append(out, "FLOE_TEST_"+strings.ToUpper(name)+"_"+strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(k))+"="+v)
		}
		slices.Sort(out)
		return out, nil
	}
	return nil, fmt.Errorf("there is no service %q; %s", name, usage)
}
