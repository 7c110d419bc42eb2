package services

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed files
var files embed.FS

// Versions are those of what is started, by its name.
var Versions = map[string]string{
	"kafka": "4.4.0", "rest": "1.11.0", "hive": "3.1.3", "registry": "3.3.3", "moto": "5.2.5", "azure": "3.37.0", "gcs": "1.56.1",
	"spark": "4.0.1", "pyiceberg": "0.12.0", "duckdb": "1.5.5", "hyparquet": "1.33.0",
}

// CacheDir is where downloads are kept: $FLOE_CI_DIR, or floe-ci in the system's folder for temporary files.
func CacheDir() string {
	if dir := os.Getenv("FLOE_CI_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "floe-ci")
}

// cached gives a folder of the cache that get has filled, once for each content of the file of that name in files.
func cached(folder, file string, get func(dir, file string) error) (string, error) {
	dir := filepath.Join(CacheDir(), folder)
	want, err := files.ReadFile("files/" + file)
	if err != nil {
		return "", err
	}
	mark := filepath.Join(dir, file)
	if have, err := os.ReadFile(mark); err == nil && bytes.Equal(have, want) {
		return dir, nil
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp("", "floe-get-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	source := filepath.Join(tmp, file)
	if err := os.WriteFile(source, want, 0o644); err != nil {
		return "", err
	}
	if err := get(dir, source); err != nil {
		return "", fmt.Errorf("get %s: %w", folder, err)
	}
	// The mark comes last: what was cut short is got again.
	return dir, os.WriteFile(mark, want, 0o644)
}

// tool runs a program to its end; what it prints is in the error.
func tool(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out[max(0, len(out)-2000):])
	}
	return nil
}

const mavenPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:"

// jars gives the folder with the jars that files/NAME.xml asks for.
func jars(ctx context.Context, name string) (string, error) {
	return cached(name+"-libs", name+".xml", func(dir, pom string) error {
		pomXML := filepath.Join(filepath.Dir(pom), "pom.xml")
		if err := os.Rename(pom, pomXML); err != nil {
			return err
		}
		return tool(ctx, "", "mvn", "-q", "-B", "-f", pomXML, mavenPlugin+"copy-dependencies", "-DoutputDirectory="+dir)
	})
}

// archive gives the folder with an archive of Maven's, unpacked.
func archive(ctx context.Context, folder, artifact string) (string, error) {
	dir := filepath.Join(CacheDir(), folder)
	mark := filepath.Join(dir, "got")
	if _, err := os.Stat(mark); err == nil {
		return dir, nil
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	if err := tool(ctx, "", "mvn", "-q", "-B", mavenPlugin+"copy", "-Dartifact="+artifact, "-DoutputDirectory="+dir); err != nil {
		return "", fmt.Errorf("get %s: %w", folder, err)
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil {
		return "", fmt.Errorf("get %s: %w", folder, err)
	} else if len(packed) != 1 {
		return "", fmt.Errorf("get %s: %d archives came", folder, len(packed))
	}
	if err := errors.Join(tool(ctx, dir, "tar", "xzf", packed[0]), os.Remove(packed[0])); err != nil {
		return "", fmt.Errorf("get %s: %w", folder, err)
	}
	return dir, os.WriteFile(mark, nil, 0o644)
}

// Python gives the interpreter of a virtual environment with the packages of files/requirements.txt: the servers written in
// Python, and the independent readers.
func Python(ctx context.Context) (string, error) {
	dir, err := cached("venv", "requirements.txt", func(dir, list string) error {
		if err := tool(ctx, "", "python3", "-m", "venv", dir); err != nil {
			return err
		}
		return tool(ctx, "", filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", list)
	})
	return filepath.Join(dir, "bin", "python"), err
}

// node gives the folder with the npm packages of a file in files.
func node(ctx context.Context, folder, file string) (string, error) {
	return cached(folder, file, func(dir, list string) error {
		data, err := os.ReadFile(list)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "package.json"), data, 0o644)
		}
		if err == nil {
			err = tool(ctx, dir, "npm", "install", "--no-audit", "--no-fund", "--silent")
		}
		return errors.Join(err, os.Remove(filepath.Join(dir, "package.json"))) // written again when all is there
	})
}

// azurite gives the folder with the Azure emulator.
func azurite(ctx context.Context) (string, error) { return node(ctx, "npm", "package.json") }

// goProgram gives a program that go install makes, of one version.
func goProgram(ctx context.Context, pkg, version string) (string, error) {
	dir := filepath.Join(CacheDir(), "bin-"+version)
	path := filepath.Join(dir, filepath.Base(pkg))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	cmd := exec.CommandContext(ctx, "go", "install", pkg+"@"+version)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("get %s: %w\n%s", pkg, err, out[max(0, len(out)-2000):])
	}
	return path, nil
}

// Get gets what a service needs and starts nothing, so that a test's time does not hang on a download.
func Get(ctx context.Context, name string) (err error) {
	switch name {
	case "kafka", "cluster":
		_, err = jars(ctx, "kafka")
	case "rest":
		_, err = jars(ctx, "rest")
	case "s3":
		_, err = Python(ctx)
	case "registry":
		_, err = archive(ctx, registryFolder, registryArtifact)
	case "hive":
		if _, err = jars(ctx, "hive"); err == nil {
			_, err = archive(ctx, hiveFolder, hiveArtifact)
		}
	case "azure":
		_, err = azurite(ctx)
	case "gcs":
		_, err = goProgram(ctx, gcsPackage, "v"+Versions["gcs"])
	case "postgres":
		_, err = postgresBin(ctx)
	default:
		err = fmt.Errorf("there is no service %q", name)
	}
	return err
}
