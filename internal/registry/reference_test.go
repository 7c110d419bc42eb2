package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormfloe/floe/mapper"
)

// An instance of the registry may be behind: what is missing at first may be there a moment later, and only what is missing twice
// makes records bad.
func TestAReferenceIsMissingWhenItIsMissingTwice(t *testing.T) {
	const none, away, there = `{"error_code":40402,"message":"Version not found"}`, "", `{"subject":"x","version":3,"id":5,"schema":"\"long\""}`
	for name, c := range map[string]struct {
		answers []string
		is      error // of the last answer, nil for none
		holds   bool
	}{
		"there": {[]string{there}, nil, false}, "late": {[]string{none, there}, nil, false}, "missing": {[]string{none, none}, mapper.ErrNoReference, false},
		"away": {[]string{none, away, away, away}, nil, true},
	} {
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasPrefix(req.URL.Path, "/schemas/ids/") {
				_, _ = w.Write([]byte(`{"schema":"\"string\"","references":[{"name":"X","subject":"x","version":3}]}`))
				return
			}
			switch a := c.answers[asked.Add(1)-1]; a {
			case away:
				w.WriteHeader(http.StatusServiceUnavailable)
			case none:
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(a))
			default:
				_, _ = w.Write([]byte(a))
			}
		}))
		r := client(t, Config{URL: s.URL})
		r.secondLook = time.Millisecond
		got, err := r.ResolveSchema(t.Context(), mapper.SchemaRef{ID: 7})
		verdict := errors.Is(err, mapper.ErrNoReference) || errors.Is(err, mapper.ErrNoSchema)
		switch {
		case c.is != nil && (!errors.Is(err, c.is) || !strings.Contains(err.Error(), "version 3 of the subject x, which it refers to")), c.holds && (err == nil || verdict),
			c.is == nil && !c.holds && (err != nil || len(got.References) != 1):
			t.Errorf("%s: %v %v", name, got, err)
		}
		if int(asked.Load()) != len(c.answers) {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
		s.Close()
	}
}

func TestASchemaIsAskedForByItsGUID(t *testing.T) {
	guid := [16]byte{0xcc, 14, 14, 14, 0x53, 0xc1, 0x4a, 0x1a, 0x8f, 0x1a, 0, 0, 0, 0, 0, 1}
	for name, c := range map[string]struct {
		status int
		body   string
		is     error
	}{
		"there":       {200, `{"schema":"\"long\"","guid":"cc0e0e0e-53c1-4a1a-8f1a-000000000001"}`, nil},
		"unknown":     {404, `{"error_code":40403,"message":"Schema not found"}`, mapper.ErrNoSchema},
		"no GUIDs":    {404, `{"error_code":404,"message":"HTTP 404 Not Found"}`, mapper.ErrRefused},
		"no registry": {404, `{"error_code":404,"message":"HTTP 404 Not Found"}`, mapper.ErrRefused},
		"of JSON":     {200, `{"schema":"{}","schemaType":"JSON"}`, mapper.ErrWrongSchema},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/schemas/ids/2147483647" && name == "no GUIDs" {
				w.WriteHeader(404)
				_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
				return
			}
			if req.URL.Path != "/schemas/ids/2147483647" && req.URL.Path != "/schemas/guids/cc0e0e0e-53c1-4a1a-8f1a-000000000001" {
				t.Errorf("asked for %s", req.URL.Path)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		got, err := client(t, Config{URL: s.URL}).ResolveSchema(t.Context(), mapper.SchemaRef{GUID: guid})
		if !errors.Is(err, c.is) || err == nil && got.Text != `"long"` {
			t.Errorf("%s: %v %v", name, got, err)
		}
		if (name == "no GUIDs") != (err != nil && strings.Contains(err.Error(), "no /schemas/guids. Let the producers name schemas by id")) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(c.is, mapper.ErrRefused) && !strings.Contains(err.Error(), "named by its GUID") {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}
