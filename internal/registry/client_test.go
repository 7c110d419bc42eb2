package registry

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/stormfloe/floe/mapper"
)

func fake(t *testing.T, opts ...srfake.Option) *srfake.Registry {
	r := srfake.New(opts...)
	t.Cleanup(r.Close)
	r.SeedSchema("a", 1, 7, sr.Schema{Schema: `"long"`})
	return r
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASchemaIsFoundWithWhatItRefersTo(t *testing.T) {
	r := fake(t)
	b := `{"type":"enum","name":"B","symbols":["X"]}`
	a := `{"type":"record","name":"A","fields":[{"name":"b","type":"B"}]}`
	top := `{"type":"record","name":"R","fields":[{"name":"a","type":"A"},{"name":"b","type":"B"}]}`
	refB := sr.SchemaReference{Name: "B", Subject: "b/odd name", Version: 1}
	r.SeedSchema("b/odd name", 1, 1, sr.Schema{Schema: b})
	r.SeedSchema("a", 2, 2, sr.Schema{Schema: a, References: []sr.SchemaReference{refB}})
	r.SeedSchema("r", 1, 3, sr.Schema{Schema: top, References: []sr.SchemaReference{{Name: "A", Subject: "a", Version: 2}, refB}})
	c := client(t, Config{URL: r.URL()})
	got, err := c.ResolveSchema(t.Context(), mapper.SchemaRef{ID: 3})
	if want := (mapper.AvroSchema{Text: top, References: []string{b, a}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %v", got, err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWhatAnErrorMeans(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		is     error // nil: a hold
		tries  int32
		says   string
	}{
		"unknown":          {404, `{"error_code":40403,"message":"Schema 9 not found"}`, mapper.ErrNoSchema, 1, "Schema 9 not found"},
		"no registry":      {404, `<html>nginx`, mapper.ErrRefused, 1, "there is no registry at"},
		"another path":     {404, `{"error_code":404,"message":"HTTP 404 Not Found"}`, mapper.ErrRefused, 1, "correct the URL's path"},
		"not known":        {401, `{"error_code":40101,"message":"Unauthorized"}`, mapper.ErrRefused, 1, "refuses the credentials (HTTP 401): Unauthorized"},
		"forbidden":        {403, "no", mapper.ErrRefused, 1, "(HTTP 403): no"},
		"moved":            {302, "", mapper.ErrRefused, 1, "has moved (HTTP 302)"},
		"busy":             {429, "slow down", nil, tries, "HTTP 429: slow down"},
		"broken":           {500, `{"error_code":50001,"message":"store\n\ttimeout"}`, nil, tries, "HTTP 500: store timeout"},
		"gateway":          {502, strings.Repeat("x", 10000), nil, tries, "…"},
		"not JSON":         {200, "<html>", nil, tries, "can't be asked"},
		"another type":     {200, `{"schemaType":"PROTOBUF","schema":"x"}`, mapper.ErrWrongSchema, 1, "PROTOBUF"},
		"a type of nobody": {200, `{"schemaType":"XML","schema":"x"}`, nil, tries, "XML"},
		"too long":         {200, `"` + strings.Repeat("x", mostBytes), nil, tries, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				if c.status == 302 {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := client(t, Config{URL: s.URL}).ResolveSchema(t.Context(), mapper.SchemaRef{ID: 9})
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 400 {
				t.Errorf("got %v, want %q", err, c.says)
			}
			n := 0
			for _, sentinel := range []error{mapper.ErrNoSchema, mapper.ErrRefused, mapper.ErrWrongSchema} {
				if errors.Is(err, sentinel) {
					n++
				}
			}
			if c.is != nil && (n != 1 || !errors.Is(err, c.is)) || c.is == nil && n != 0 {
				t.Errorf("%v is not what it should be", err)
			}
			if n := asked.Load(); n != c.tries {
				t.Errorf("asked %d times, want %d", n, c.tries)
			}
		})
	}
}

func TestCheckAsksWhatEveryRegistryKnows(t *testing.T) {
	for body, ok := range map[string]bool{`["AVRO"]`: true, "": true, "no": false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch {
			case req.URL.Path == "/schemas/types" && body != "" && ok:
				_, _ = w.Write([]byte(body))
			case ok && strings.HasPrefix(req.URL.Path, "/schemas/ids/"):
				w.WriteHeader(404)
				_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
			default:
				w.WriteHeader(404)
			}
		}))
		if err := client(t, Config{URL: s.URL}).Check(t.Context()); (err == nil) != ok {
			t.Errorf("%q: %v", body, err)
		}
		s.Close()
	}
}

func TestAPassingFailureIsTriedAgain(t *testing.T) {
	r := fake(t)
	var asked atomic.Int32
	r.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if asked.Add(1) < tries {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	got, err := client(t, Config{URL: r.URL()}).ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7})
	if err != nil || got.Text != `"long"` {
		t.Errorf("got %v %v", got, err)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	came := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		close(came)
		<-req.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-came; cancel() }()
	if _, err := client(t, Config{URL: s.URL}).ResolveSchema(ctx, mapper.SchemaRef{ID: 7}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	c := client(t, Config{URL: "http://127.0.0.1:1", Timeout: time.Second})
	if _, err := c.ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7}); err == nil || !strings.Contains(err.Error(), "the registry at http://127.0.0.1:1 can't be asked") {
		t.Errorf("got %v", err)
	}
}

func TestCredentials(t *testing.T) {
	basic := fake(t, srfake.WithAuth("Basic YXBwOnMzY3JldA==")) // app:s3cret
	bearer := fake(t, srfake.WithAuth("Bearer t0ken"))
	inURL := strings.Replace(basic.URL(), "http://", "http://app:s3cret@", 1)
	for name, cfg := range map[string]Config{
		"basic": {URL: basic.URL(), Username: "app", Password: "s3cret"}, "in the URL": {URL: inURL}, "bearer": {URL: bearer.URL(), Token: "t0ken"},
	} {
		c := client(t, cfg)
		if _, err := c.ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(c.String(), "s3cret") {
			t.Error(c)
		}
	}
	for name, cfg := range map[string]Config{
		"wrong password": {URL: basic.URL(), Username: "app", Password: "wr0ng-pw"}, "wrong in the URL": {URL: strings.Replace(inURL, "s3cret", "wr0ng-pw", 1)},
		"wrong token": {URL: bearer.URL(), Token: "wr0ng-pw"}, "away": {URL: "http://app:wr0ng-pw@127.0.0.1:1"},
	} {
		_, err := client(t, cfg).ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7})
		if err == nil || strings.Contains(err.Error(), "wr0ng-pw") || errors.Is(err, mapper.ErrRefused) != (name != "away") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []Config{
		{}, {URL: "localhost:8081"}, {URL: "ftp://x"}, {URL: "http://"}, {URL: "http://h?a=s3cret"}, {URL: "http://u:s3cret@h", Username: "u"},
		{URL: "http://u:s3cret@h", Token: "t"}, {URL: "http://h", Token: "t", Username: "u"}, {URL: "http://u:s3cret@h:port"}, {URL: "http://u:s3cret@h%"},
	} {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestTLSWithACertificateOfOnesOwn(t *testing.T) {
	r := fake(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(r.Handler())
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	s.TLS.ClientCAs.AddCert(own)
	s.StartTLS()
	defer s.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	full := &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	if _, err := client(t, Config{URL: s.URL, TLS: full}).ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7}); err != nil {
		t.Error(err)
	}
	for _, cfg := range []*tls.Config{nil, {RootCAs: trusted}} {
		if _, err := client(t, Config{URL: s.URL, TLS: cfg}).ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7}); err == nil {
			t.Error("it was let in")
		}
	}
}

func TestAProtobufSchemaIsFoundWithWhatItImports(t *testing.T) {
	r := fake(t)
	ref := func(name, subject string) sr.SchemaReference {
		return sr.SchemaReference{Name: name, Subject: subject, Version: 1}
	}
	c, b := `syntax = "proto3"; message C { int64 x = 1; }`, `syntax = "proto3"; import "c.proto"; message B { C c = 1; }`
	top := `syntax = "proto3"; import "dir/b.proto"; import "c.proto"; message A { B b = 1; C c = 2; }`
	r.SeedSchema("c", 1, 1, sr.Schema{Type: sr.TypeProtobuf, Schema: c})
	r.SeedSchema("b", 1, 2, sr.Schema{Type: sr.TypeProtobuf, Schema: b, References: []sr.SchemaReference{ref("c.proto", "c")}})
	r.SeedSchema("top", 1, 3, sr.Schema{Type: sr.TypeProtobuf, Schema: top, References: []sr.SchemaReference{ref("dir/b.proto", "b"), ref("c.proto", "c")}})
	r.SeedSchema("torn", 1, 4, sr.Schema{Type: sr.TypeProtobuf, Schema: top, References: []sr.SchemaReference{ref("c.proto", "b"), ref("c.proto", "c")}})
	cl := client(t, Config{URL: r.URL()})
	got, err := cl.ResolveProto(t.Context(), mapper.SchemaRef{ID: 3})
	if want := (mapper.ProtoSchema{Text: top, Imports: map[string]string{"dir/b.proto": b, "c.proto": c}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v %v", got, err)
	}
	got.Message = "A"
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	for _, id := range []uint32{4, 7} { // two files of one name; Avro
		if _, err := cl.ResolveProto(t.Context(), mapper.SchemaRef{ID: id}); !errors.Is(err, mapper.ErrWrongSchema) {
			t.Errorf("%d: %v", id, err)
		}
	}
}
