package main

import "context"

func misbehave(string) {}

func misdo(context.Context, string, string) (answer string, known bool, err error) {
	return "", false, nil
}
