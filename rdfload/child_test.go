package rdfload_test

func runChild(string) int { return 2 }
