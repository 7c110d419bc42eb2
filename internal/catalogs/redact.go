package catalogs

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/apache/iceberg-go"
)

const hidden = "[hidden]"

// redactedError is an error whose text has lost its secrets. errors.Is and errors.As still see what is beneath.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

var (
	secretKey = regexp.MustCompile(`(?i)pass|pwd|secret|token|credential|signature|jsonkey|access-key|account\.key|` +
		`connection-string|authorization|api-?key|^header\.`)
	userinfo = regexp.MustCompile(`(://[^/@:\s]*):[^@\s]*@`)
)

// redact takes secrets out of an error's text: the values of properties that hold one, whole or in their parts, and the
// password of anything that looks like an address with one.
func redact(err error, p iceberg.Properties) error {
	text := err.Error()
	for _, s := range secretsOf(p) {
		text = strings.ReplaceAll(text, s, hidden)
	}
	text = userinfo.ReplaceAllString(text, "$1:"+hidden+"@")
	if text == err.Error() {
		return err
	}
	return &redactedError{text, err}
}

func secretsOf(p iceberg.Properties) []string {
	var out []string
	add := func(s string) {
		if len(s) >= 3 {
			out = append(out, s, url.QueryEscape(s), url.PathEscape(s))
		}
	}
	for k, v := range p {
		if secretKey.MatchString(k) {
			add(v)
			// A credential is "client id:secret".
			if _, secret, ok := strings.Cut(v, ":"); ok {
				add(secret)
			}
		}
	}
	u, err := url.Parse(p["uri"])
	if err != nil {
		// What can't be read may hold anything.
		add(p["uri"])
		return out
	}
	if pw, ok := u.User.Password(); ok {
		add(pw)
	}
	for k, vs := range u.Query() {
		if secretKey.MatchString(k) {
			for _, v := range vs {
				add(v)
			}
		}
	}
	return out
}
