package services

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestVersionsAreThoseOfTheFiles: what docs/compatibility.md tells is what is got.
func TestVersionsAreThoseOfTheFiles(t *testing.T) {
	for name, want := range map[string][2]string{
		"kafka": {"kafka.xml", "<kafka.version>%</kafka.version>"}, "rest": {"rest.xml", "<iceberg.version>%</iceberg.version>"},
		"moto": {"requirements.txt", "moto[server]==%\n"}, "azure": {"package.json", `"azurite": "%"`},
		"spark": {"engines.txt", "pyspark==%\n"}, "pyiceberg": {"requirements.txt", "pyiceberg[pyarrow,sql-sqlite]==%\n"}, "duckdb": {"requirements.txt", "duckdb==%\n"},
		"hyparquet": {"reader.json", `"hyparquet": "%"`},
	} {
		data, err := files.ReadFile("files/" + want[0])
		if text := strings.Replace(want[1], "%", Versions[name], 1); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s: %s does not have %q (%v)", name, want[0], text, err)
		}
	}
	for name, artifact := range map[string]string{"hive": hiveArtifact, "registry": registryArtifact} {
		if !strings.Contains(artifact, ":"+Versions[name]+":") {
			t.Errorf("%s is %s", name, artifact)
		}
	}
}

func TestStopEndsWhatWasStarted(t *testing.T) {
	s := New(t.TempDir(), io.Discard)
	p, err := s.launch("sleeper", exec.Command("sleep", "600"))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	select {
	case <-p.done:
	default:
		t.Error("it goes on")
	}
}

func TestAKilledServiceStartsAgainAsItWas(t *testing.T) {
	s := New(t.TempDir(), io.Discard)
	defer s.Stop()
	cmd := exec.Command("sh", "-c", "echo ready in $PLACE $$; sleep 600")
	cmd.Env = append(os.Environ(), "PLACE=here")
	p, err := s.launch("service", cmd)
	if err == nil {
		err = s.until(t.Context(), p, p.says("ready in here"))
	}
	if err == nil {
		err = s.Kill("service")
	}
	if err == nil {
		err = s.Again(t.Context(), "service")
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.named("service")
	if err != nil || again == p || again.cmd.Process.Pid == p.cmd.Process.Pid {
		t.Errorf("it is the same process (%v)", err)
	}
	if err := s.Again(t.Context(), "another"); err == nil {
		t.Error("what was never started can't start again")
	}
}

func TestAServiceThatEndsAtOnceIsAnErrorWithItsLastWords(t *testing.T) {
	s := New(t.TempDir(), io.Discard)
	defer s.Stop()
	p, err := s.launch("bad", exec.Command("sh", "-c", "echo no such thing; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.until(t.Context(), p, p.says("ready")); err == nil || !strings.Contains(err.Error(), "no such thing") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}

func TestCertificatesAreGoodForBothSides(t *testing.T) {
	c, err := makeCertificates(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server, err := tls.LoadX509KeyPair(c.server, c.server)
	if err != nil {
		t.Fatal(err)
	}
	client, err := tls.LoadX509KeyPair(c.ClientCert, c.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(c.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	front.StartTLS()
	defer front.Close()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{client}}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// TestAGateLetsInWhatHasNotExpired: tokens and keys are good for their time and no longer.
func TestAGateLetsInWhatHasNotExpired(t *testing.T) {
	g := &Gate{lifetime: time.Hour, wantToken: true, vends: true}
	g.mu.tokens, g.mu.keys = map[string]time.Time{}, map[string]time.Time{}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	get := func(h http.Handler, authorization string) int {
		r := httptest.NewRequest(http.MethodGet, "/v1/config", nil)
		r.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	token := func(id, secret string) string {
		r := httptest.NewRequest(http.MethodPost, "/token", nil)
		r.SetBasicAuth(id, secret)
		w := httptest.NewRecorder()
		g.token(w, r)
		var v struct {
			Token string `json:"access_token"`
		}
		_ = json.Unmarshal(w.Body.Bytes(), &v)
		return v.Token
	}
	if token("floe", "wrong") != "" {
		t.Error("a wrong secret gets a token")
	}
	good, key := token("floe", "client-secret"), g.newKeys()["s3.access-key-id"]
	signed := "AWS4-HMAC-SHA256 Credential=" + key + "/20260101/us-east-1/s3/aws4_request"
	if get(g.guardToken(ok), "Bearer "+good) != 200 || get(g.guardKeys(ok), signed) != 200 {
		t.Error("what is good is refused")
	}
	if get(g.guardToken(ok), "Bearer x") != 401 || get(g.guardKeys(ok), "AWS4-HMAC-SHA256 Credential=test/x") != 403 || get(g.guardKeys(ok), "") != 403 {
		t.Error("what nobody handed out is let in")
	}
	g.lifetime = -time.Second
	late, key := token("floe", "client-secret"), g.newKeys()["s3.access-key-id"]
	if get(g.guardToken(ok), "Bearer "+late) != 401 || get(g.guardKeys(ok), "AWS4-HMAC-SHA256 Credential="+key+"/20260101") != 403 {
		t.Error("what has expired is let in")
	}
	if c := g.Count(); c != (GateCount{2, 2, 2, 3}) {
		t.Errorf("%+v", c)
	}
}

func TestAnUnsignedTokenHasThreeParts(t *testing.T) {
	parts := strings.Split(UnsignedToken("floe", time.Minute), ".")
	if len(parts) != 3 || parts[2] != "" {
		t.Fatal(parts)
	}
	head, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil || string(head) != `{"alg":"none"}` {
		t.Errorf("%s, %v", head, err)
	}
}
