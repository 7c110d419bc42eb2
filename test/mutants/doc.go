// Command mutants breaks one rule of the commit protocol at a time and sees that tests notice.
//
//	go run ./test/mutants               # all of them: minutes
//	go run ./test/mutants -only pin -v  # those whose name matches, with the tests' own words
//
// A mutant is a change of the source: old text that must be in its file exactly once, and what takes its place. It is
// compiled in with `go test -overlay`; nothing in the checkout changes. First the tests that are to catch mutants run
// without any, and must pass. Then, for each mutant,
//
//   - tests of the explored model (internal/protocol) must fail where the rule is one of its functions. Where the rule is
//     held by the code around them, the model breaks it by itself: that test must pass, and has then found a counterexample;
//   - deterministic tests of the code that runs must fail;
//   - the variant of docs/spec that breaks the same rule must be among those that .ci/spin explores.
//
// A mutant that survives, one that does not compile, and one whose text is no longer in the source are failures. The exit
// code is 1 if there is any.
package main
