package services

import (
	"os"
	"testing"
)

// Address gives the value of the variable that tells a test of a real service, as test/services sets it. A test without it is
// skipped; where FLOE_CI=1 says that all services must be there, it fails.
func Address(t testing.TB, variable string) string {
	t.Helper()
	v := os.Getenv(variable)
	if v == "" {
		Missing(t, "%s is not set; go run ./test/services start says how it is", variable)
	}
	return v
}

// Missing skips a test for want of a service, or fails it with FLOE_CI=1.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("FLOE_CI") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
