// Package page is the web page of a running floe: static files that are linked in, and the last hour that the page draws.
//
// The page asks its own server for /status and /history.json, and nobody else for anything: its content security policy allows no
// more. What it shows of a topology is data, also where it looks like markup.
package page
