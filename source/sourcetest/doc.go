// Package sourcetest is the conformance suite that every source runs. It is driven by what the source declares in its
// Traits, and by what its fixture can do.
//
//	func TestConformance(t *testing.T) {
//		sourcetest.Run(t, func(t *testing.T) sourcetest.Fixture { ... })
//	}
//
// Nothing here sleeps: the recorder waits for what it is told, with a limit that only a hanging source reaches. The
// Recorder checks the invariants of package source at each call, so it also serves a source's own tests.
package sourcetest
