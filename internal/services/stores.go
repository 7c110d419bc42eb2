package services

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// S3 is moto's server: S3 with the buckets lake and floe, and Glue. It takes any key.
type S3 struct{ URL string }

// Properties are a catalog's keys for tables there.
func (s *S3) Properties() map[string]string {
	return map[string]string{"s3.endpoint": s.URL, "s3.access-key-id": "test", "s3.secret-access-key": "test", "s3.region": "us-east-1"}
}

// S3 starts moto.
func (s *Services) S3(ctx context.Context) (*S3, error) {
	if s.s3 != nil {
		return s.s3, nil
	}
	python, err := Python(ctx)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(filepath.Join(filepath.Dir(python), "moto_server"), "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	if err := s.run(ctx, "s3", cmd, accepts(addr)); err != nil {
		return nil, err
	}
	for _, bucket := range []string{"lake", "floe"} {
		if err := put(ctx, "http://"+addr+"/"+bucket, "", http.Header{"Authorization": {"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}}); err != nil {
			return nil, fmt.Errorf("make the bucket %s: %w", bucket, err)
		}
	}
	s.s3 = &S3{"http://" + addr}
	return s.s3, nil
}

// put sends a request with a body; it wants a success.
func put(ctx context.Context, url, body string, header http.Header) error {
	method := http.MethodPut
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	return send(req)
}

// send wants a success.
func send(req *http.Request) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return errors.New(resp.Status)
	}
	return nil
}

const gcsPackage = "github.com/fsouza/fake-gcs-server"

// GCS starts an emulator of Google Cloud Storage with the bucket lake and gives a catalog's keys for tables on gs://lake.
func (s *Services) GCS(ctx context.Context) (map[string]string, error) {
	program, err := goProgram(ctx, gcsPackage, "v"+Versions["gcs"])
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(program, "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", strconv.Itoa(port),
		"-external-url", "http://"+addr, "-public-host", addr)
	if err := s.run(ctx, "gcs", cmd, accepts(addr)); err != nil {
		return nil, err
	}
	if err := put(ctx, "http://"+addr+"/storage/v1/b?project=p", `{"name":"lake"}`, http.Header{"Content-Type": {"application/json"}}); err != nil {
		return nil, fmt.Errorf("make the bucket: %w", err)
	}
	return map[string]string{"gcs.endpoint": "http://" + addr + "/storage/v1/", "gcs.no-auth": "true"}, nil
}

// AzureWarehouse is where tables lie in the emulator.
const AzureWarehouse = "abfs://lake@" + azureAccount + ".dfs.core.windows.net/wh"

// The emulator's account and key are the same everywhere, and public.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azure starts Azurite with the container lake and gives a catalog's keys for tables in AzureWarehouse.
func (s *Services) Azure(ctx context.Context) (map[string]string, error) {
	packages, err := azurite(ctx)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command("node", filepath.Join(packages, "node_modules", "azurite", "dist", "src", "blob", "main.js"), "--blobHost", "127.0.0.1",
		"--blobPort", strconv.Itoa(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry")
	cmd.Dir = s.dir
	if err := s.run(ctx, "azure", cmd, accepts(addr)); err != nil {
		return nil, err
	}
	if err := makeContainer(ctx, addr, "lake"); err != nil {
		return nil, fmt.Errorf("make the container: %w", err)
	}
	return map[string]string{"adls.auth.shared-key.account.name": azureAccount, "adls.auth.shared-key.account.key": azureKey,
		"adls.endpoint": addr, "adls.protocol": "http"}, nil
}

// postgresBin gives the folder with Postgres' programs, and installs it where it is missing.
func postgresBin(ctx context.Context) (string, error) {
	find := func() string {
		dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well-formed
		if len(dirs) == 0 {
			return ""
		}
		return dirs[len(dirs)-1]
	}
	if dir := find(); dir != "" {
		return dir, nil
	}
	if os.Getuid() != 0 {
		return "", errors.New("postgres is not installed: install your system's package postgresql")
	}
	if err := errors.Join(tool(ctx, "", "apt-get", "update", "-q"),
		tool(ctx, "", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "postgresql")); err != nil {
		return "", err
	}
	if dir := find(); dir != "" {
		return dir, nil
	}
	return "", errors.New("postgres was installed, but is not in /usr/lib/postgresql")
}
