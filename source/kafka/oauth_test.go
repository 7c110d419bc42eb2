package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestOAuthBearerSendsItsToken(t *testing.T) {
	m := OAuthBearer(func(context.Context) (string, error) { return "abc.def.ghi", nil })
	session, first, err := m.Start(t.Context())
	if err != nil || m.Name() != "OAUTHBEARER" || string(first) != "n,,\x01auth=Bearer abc.def.ghi\x01\x01" {
		t.Fatalf("%s: %q, %v", m.Name(), first, err)
	}
	if done, _, err := session.Next(t.Context(), nil); !done || err != nil {
		t.Errorf("taken: %v, %v", done, err)
	}
	if done, answer, err := session.Next(t.Context(), []byte(`{"status":"invalid_token"}`)); done || string(answer) != "\x01" || err != nil {
		t.Errorf("refused: %v, %q, %v", done, answer, err)
	}
}

func TestOAuthBearerRefusesWhatIsNoToken(t *testing.T) {
	for _, token := range []string{"", "se cret", "secret\n", "secret\x01", "sécret"} {
		_, _, err := OAuthBearer(func(context.Context) (string, error) { return token, nil }).Start(t.Context())
		if err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v", token, err)
		}
	}
	away := errors.New("away")
	if _, _, err := OAuthBearer(func(context.Context) (string, error) { return "", away }).Start(t.Context()); !errors.Is(err, away) {
		t.Error(err)
	}
}
