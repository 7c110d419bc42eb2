package restcatalog

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
)

// giveToken is the OAuth2 endpoint: client credentials in the form or by basic authentication.
func (s *Server) giveToken(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	switch {
	case r.PostFormValue("grant_type") != "client_credentials":
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	case s.opts.Credential == "" || !same(id+":"+secret, s.opts.Credential):
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.issued++
	if s.mu.token == "" {
		s.mu.token = fmt.Sprintf("token-%d", s.mu.issued)
	}
	out := map[string]any{"access_token": s.mu.token, "token_type": "bearer"}
	if s.opts.TokenTTL > 0 {
		out["expires_in"] = int(s.opts.TokenTTL.Seconds())
	}
	writeJSON(w, http.StatusOK, out)
}

// RevokeTokens makes every token that was given out so far useless, as a restart with other keys does.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.token = ""
}

// TokensIssued counts the tokens given out.
func (s *Server) TokensIssued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.issued
}

func (s *Server) authorized(r *http.Request) bool {
	if s.opts.Credential == "" {
		return true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.EqualFold(kind, "bearer") && s.mu.token != "" && same(token, s.mu.token)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
