package services

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Gate stands in front of a REST catalog and an S3 server and wants what they don't: a token from its token endpoint (OAuth 2's
// client credentials), and S3 keys that it has handed out with a table. Both expire after Lifetime.
type Gate struct {
	// Catalog and TokenURL are addresses; floe's catalog has Credential as its credential.
	Catalog, TokenURL string
	lifetime          time.Duration
	wantToken, vends  bool
	// storage is the address of the S3 server's side.
	storage string

	mu struct {
		sync.Mutex
		tokens, keys map[string]time.Time
		count        GateCount
	}
}

// GateCount is how much a Gate has handed out, and how often it refused what had expired.
type GateCount struct{ Tokens, Keys, RefusedTokens, RefusedKeys int }

// Credential is what the token endpoint takes: client id and secret.
const Credential = "floe:client-secret"

// NewGate opens a gate. Tokens are wanted where tokens says so, keys where vends does. Services.Stop closes it.
func (s *Services) NewGate(ctx context.Context, lifetime time.Duration, tokens, vends bool) (*Gate, error) {
	rest, err := s.REST(ctx)
	if err != nil {
		return nil, err
	}
	restURL, err := url.Parse(rest)
	if err != nil {
		return nil, err
	}
	s3URL, err := url.Parse(s.s3.URL)
	if err != nil {
		return nil, err
	}
	g := &Gate{lifetime: lifetime, wantToken: tokens, vends: vends}
	g.mu.tokens, g.mu.keys = map[string]time.Time{}, map[string]time.Time{}
	storage := httptest.NewServer(g.guardKeys(httputil.NewSingleHostReverseProxy(s3URL)))
	proxy := httputil.NewSingleHostReverseProxy(restURL)
	proxy.ModifyResponse = g.vend
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.token)
	mux.HandleFunc("POST /v1/oauth/tokens", g.token)
	if vends {
		mux.HandleFunc("GET /v1/namespaces/{ns}/tables/{table}/credentials", g.credentials)
	}
	mux.Handle("/", g.guardToken(proxy))
	catalog := httptest.NewServer(mux)
	g.Catalog, g.TokenURL, g.storage = catalog.URL, catalog.URL+"/token", storage.URL
	s.stops = append(s.stops, catalog.Close, storage.Close)
	return g, nil
}

// NewTokens opens the token endpoint of a gate, and nothing else. Services.Stop closes it.
func (s *Services) NewTokens(lifetime time.Duration) *Gate {
	g := &Gate{lifetime: lifetime}
	g.mu.tokens = map[string]time.Time{}
	server := httptest.NewServer(http.HandlerFunc(g.token))
	g.TokenURL = server.URL + "/token"
	s.stops = append(s.stops, server.Close)
	return g
}

// Count is what has happened so far.
func (g *Gate) Count() GateCount {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.count
}

// UnsignedToken is a token that Kafka's broker takes where nobody has told it whom to trust, and Gate does.
func UnsignedToken(subject string, lifetime time.Duration) string {
	now := time.Now()
	part := func(v any) string {
		data, _ := json.Marshal(v) // maps of strings and numbers
		return base64.RawURLEncoding.EncodeToString(data)
	}
	return part(map[string]any{"alg": "none"}) + "." + part(map[string]any{"sub": subject, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(lifetime).Unix()}) + "."
}

func (g *Gate) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if id+":"+secret != Credential {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
		return
	}
	token := UnsignedToken(id, g.lifetime)
	g.mu.Lock()
	g.mu.tokens[token] = time.Now().Add(g.lifetime)
	g.mu.count.Tokens++
	g.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "bearer", "expires_in": int(g.lifetime.Seconds())})
}

// good says that something has been handed out and has not expired, and counts what is refused.
func (g *Gate) good(all map[string]time.Time, what string, refused *int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Now().Before(all[what]) {
		return true
	}
	*refused++
	return false
}

func (g *Gate) guardToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if g.wantToken && !g.good(g.mu.tokens, token, &g.mu.count.RefusedTokens) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"the token is not known or has expired","type":"NotAuthorizedException","code":401}}`)
			return
		}
		r.Header.Del("Accept-Encoding") // vend reads the answer
		next.ServeHTTP(w, r)
	})
}

var accessKey = regexp.MustCompile(`Credential=([^/]+)/`)

func (g *Gate) guardKeys(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := ""
		if m := accessKey.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
			key = m[1]
		}
		if !g.good(g.mu.keys, key, &g.mu.count.RefusedKeys) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newKeys hands out keys.
func (g *Gate) newKeys() map[string]string {
	key, until := "ASIA"+rand.Text(), time.Now().Add(g.lifetime)
	g.mu.Lock()
	g.mu.keys[key] = until
	g.mu.count.Keys++
	g.mu.Unlock()
	return map[string]string{"s3.endpoint": g.storage, "s3.region": "us-east-1", "s3.access-key-id": key, "s3.secret-access-key": rand.Text(),
		"s3.session-token": rand.Text(), "s3.session-token-expires-at-ms": strconv.FormatInt(until.UnixMilli(), 10)}
}

func (g *Gate) storageCredentials() []map[string]any {
	return []map[string]any{{"prefix": "s3://lake/", "config": g.newKeys()}}
}

func (g *Gate) credentials(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"storage-credentials": g.storageCredentials()})
}

// vend adds keys to the catalog's answers that have a table in them.
func (g *Gate) vend(resp *http.Response) error {
	if !g.vends || resp.StatusCode != http.StatusOK || !strings.Contains(resp.Request.URL.Path, "/tables") {
		return nil
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	var answer map[string]json.RawMessage
	if json.Unmarshal(data, &answer) == nil && answer["metadata"] != nil {
		if answer["storage-credentials"], err = json.Marshal(g.storageCredentials()); err != nil {
			return err
		}
		if data, err = json.Marshal(answer); err != nil {
			return err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	resp.ContentLength = int64(len(data))
	resp.Header.Set("Content-Length", fmt.Sprint(len(data)))
	return nil
}
