// Package child starts processes that do not outlive the one that started them, for tests and for the tools beside them.
package child
