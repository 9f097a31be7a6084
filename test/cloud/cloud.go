// Package cloud is a double of AWS for tests: an HTTP server that answers as AWS
// does, as far as we have read how it does. What moto does well it passes on to
// moto; what moto lacks stands in packages of its own below this one. A call that
// nobody implements fails the test. Tests against it prove what muster does with
// such answers, not that AWS gives them.
package cloud
