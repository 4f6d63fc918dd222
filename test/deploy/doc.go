// Package deploy holds the files of deploy/ against a server and the product: each role
// that they give permissions does its work, and nothing else.
package deploy
