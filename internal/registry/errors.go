package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/mapper"
)

// answerError is an answer that is none.
type answerError struct {
	registry string
	status   int
	// code is the registry's own, 0 where it gave none.
	code int
	text string
}

func (e *answerError) Error() string {
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return fmt.Sprintf("the registry at %s refuses the credentials (HTTP %d): %s", e.registry, e.status, e.text)
	case e.noRegistry():
		return fmt.Sprintf("there is no registry at %s (HTTP 404): correct the URL's path", e.registry)
	case e.status/100 == 3:
		return fmt.Sprintf("the registry at %s has moved (HTTP %d): write where it is now", e.registry, e.status)
	}
	return fmt.Sprintf("the registry at %s answered HTTP %d: %s", e.registry, e.status, e.text)
}

// Is makes what only another configuration mends a mapper.ErrRefused.
func (e *answerError) Is(target error) bool {
	if target != mapper.ErrRefused {
		return false
	}
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return true
	}
	return e.status/100 == 3 || e.noRegistry()
}

// noRegistry says that whoever answered 404 knows no schemas at all: a registry has a code of its own for what it misses.
func (e *answerError) noRegistry() bool {
	return e.status == http.StatusNotFound && (e.code == 0 || e.code == http.StatusNotFound)
}

// plain makes an error of the library's one that says where and what, in one line, and nothing secret.
func (c *Client) plain(err error) error {
	var answer *sr.ResponseError
	if errors.As(err, &answer) {
		text := answer.Message
		if text == "" {
			text = string(answer.Raw)
		}
		return &answerError{registry: c.name, status: answer.StatusCode, code: answer.ErrorCode, text: line(text)}
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // the URL is said once
	}
	return fmt.Errorf("the registry at %s can't be asked: %w", c.name, err)
}

// longestText bounds what is told of an answer.
const longestText = 200

// line makes one short line of a text that may be a web page.
func line(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(text); len(runes) > longestText {
		text = string(runes[:longestText]) + "…"
	}
	return text
}

// isUnknown says that the registry is there and has no such schema.
func isUnknown(err error) bool {
	var answer *answerError
	return errors.As(err, &answer) && answer.status == http.StatusNotFound && !answer.noRegistry()
}

// mayPass says that the same request may succeed in a moment.
func mayPass(err error) bool {
	var answer *answerError
	return !errors.As(err, &answer) || answer.status == http.StatusTooManyRequests || answer.status >= 500
}
