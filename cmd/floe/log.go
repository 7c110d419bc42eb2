package main

import (
	"io"
	"log/slog"

	"github.com/stormfloe/floe/internal/config"
)

// newLogger makes the log that the first configuration asks for. Secrets that a library puts into an error are taken out, those of
// all configurations.
func newLogger(w io.Writer, cfgs ...*config.Config) *slog.Logger {
	cfg, redact := cfgs[0], redactorOf(cfgs)
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // the configuration was validated: debug, info, warn and error are known
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(redact(v))
		case error:
			a.Value = slog.StringValue(redact(v.Error()))
		}
		return a
	}}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(h)
}

// redactor takes secrets out of an error on its way to the user; errors.As still sees what is beneath.
type redactor struct {
	text string
	err  error
}

func (e *redactor) Error() string { return e.text }
func (e *redactor) Unwrap() error { return e.err }

func redacted(err error, cfgs ...*config.Config) error {
	if err == nil {
		return nil
	}
	if text := redactorOf(cfgs)(err.Error()); text != err.Error() {
		return &redactor{text, err}
	}
	return err
}

// redactorOf takes the secrets of all configurations out of a text.
func redactorOf(cfgs []*config.Config) func(string) string {
	return func(text string) string {
		for _, cfg := range cfgs {
			text = cfg.Redact(text)
		}
		return text
	}
}
