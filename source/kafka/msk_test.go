//go:build cloud

package kafka

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

// TestMSKSignsItsToken: the token is a signed address of Amazon's, in which the credentials are named and the secret is not.
func TestMSKSignsItsToken(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter22secret")
	t.Setenv("AWS_SESSION_TOKEN", "session")
	m, err := MSK("eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := m.Start(t.Context())
	if err != nil || m.Name() != "OAUTHBEARER" {
		t.Fatal(m.Name(), err)
	}
	token, ok := strings.CutPrefix(string(first), "n,,\x01auth=Bearer ")
	plain, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "\x01"))
	if !ok || err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	u, err := url.Parse(string(plain))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Host != "kafka.eu-west-1.amazonaws.com" || q.Get("Action") != "kafka-cluster:Connect" || q.Get("X-Amz-Expires") != "900" ||
		!strings.HasPrefix(q.Get("X-Amz-Credential"), "AKIDEXAMPLE/") || !strings.HasSuffix(q.Get("X-Amz-Credential"), "/eu-west-1/kafka-cluster/aws4_request") ||
		q.Get("X-Amz-Security-Token") != "session" || len(q.Get("X-Amz-Signature")) != 64 || strings.Contains(string(plain), "hunter22") {
		t.Errorf("the token is %s", plain)
	}
}
