// Package faultproxy is an HTTP proxy in front of an Iceberg REST catalog that does what networks, gateways and overloaded
// servers do: it applies a request and loses the answer, answers without applying, applies it long after the client has
// given up, applies it twice.
//
//	rules, err := faultproxy.ParseRules("commit:503-after:0.05,load:reset-before:0.02,commit:late:#2")
//	p := faultproxy.New(target, faultproxy.Options{Rules: rules, Seed: 7})
//	defer p.Close()
//	http.ListenAndServe(addr, p)
//
// # Rules
//
// A rule is route:fault:when. The first rule that fits a request decides; a request that none fits is passed on unchanged.
//
//	route   commit, load, create, drop, namespace, config, token, other, any
//	when    0.05   by chance, from the seed        #3   the third request of the route       #3+   the third and all after it
//
// # Faults
//
// "-before" is never passed on; "-after" is passed on, carried out, and answered with something else.
//
//	503-before 503-after            a status with an error in the protocol's shape; any from 300 to 599. 429 and 503 carry
//	                                Retry-After, 401 says that the token has run out, 3xx points to the same address
//	502-html-before 502-html-after  a status with a page for people; also 200-html
//	200-empty-before …-after        a status with no body
//	stale-before stale-after        the route's answer before this one, as a cache gives it
//	reset-before reset-after        the connection is closed without an answer
//	reset-middle reset-end          it is carried out; the connection is closed in the middle of the answer, or after it
//	resend-first resend-second      it is sent twice, and the first or the second answer is given
//	stall                           it is carried out, and the client waits until it gives up
//	late                            the client waits until it gives up; it is carried out on Release, or Options.LateDelay
//	                                after that
//	late-504                        as late, but the client gets the status at once
//
// # What it keeps
//
// Counts by route and fault, and the last requests: method, route, path, fault and status. Never a header, a query or a
// body: those hold tokens and contents.
package faultproxy
