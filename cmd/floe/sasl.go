package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/source/kafka"
)

// tokenTimeout bounds a request for a token.
const tokenTimeout = 10 * time.Second

func saslMechanism(s *config.SASL) (kafka.SASLMechanism, error) {
	switch {
	case s == nil:
		return nil, nil
	case s.Mechanism == "AWS_MSK_IAM":
		return kafka.MSK(s.Region)
	case s.OAuth != nil:
		return kafka.OAuthBearer(serverToken(s.OAuth)), nil
	case s.TokenFile != "":
		return kafka.OAuthBearer(fileToken(s.TokenFile)), nil
	}
	return kafka.SASL(s.Mechanism, s.Username, s.Password.Reveal())
}

// maxToken is far above what brokers take.
const maxToken = 1 << 20

// fileToken reads the file anew each time: whoever writes it replaces the token before it expires.
func fileToken(path string) kafka.Token {
	return func(context.Context) (string, error) {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() || info.Size() > maxToken {
			return "", fmt.Errorf("%s is not a file with a token: it is no file, or has more than %d bytes", path, maxToken)
		}
		data, err := os.ReadFile(path)
		return strings.TrimSpace(string(data)), err
	}
}

// serverToken asks the server each time. Its answer is in no error: it may hold a token.
func serverToken(o *config.OAuth) kafka.Token {
	cc := clientcredentials.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), TokenURL: o.TokenURL, Scopes: strings.Fields(o.Scope)}
	client := &http.Client{Timeout: tokenTimeout}
	return func(ctx context.Context) (string, error) {
		t, err := cc.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
		var refused *oauth2.RetrieveError
		if errors.As(err, &refused) {
			return "", fmt.Errorf("%s answered %s; check source.kafka.sasl.oauth", o.TokenURL, refused.Response.Status)
		}
		if err != nil {
			return "", err
		}
		return t.AccessToken, nil
	}
}
