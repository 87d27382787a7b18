// Tests of the assembler.

package wat

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestAssemble compares with the output of wat2wasm 1.0.32.
func TestAssemble(t *testing.T) {
	got, err := Assemble(`(module ;; a comment
		(import "host" "log" (func $log (param i32)))
		(memory (export "memory") 1 2) (table 3 funcref)
		(global $g (mut i64) (i64.const -1))
		(func $f (export "f") (param $a i32) (result i32) (local $b i32) (local $c i64)
			(block $out (loop $again
				(br_if $out (i32.eqz (local.get $a)))
				(local.set $a (i32.sub (local.get $a) (i32.const 1)))
				(br $again)))
			(if (result i32) (i32.load8_u offset=300 (local.get $a))
				(then (i32.const 128)) (else (call $log (i32.const -65)) unreachable)))
		(export "again" (func $f))
		(data (i32.const 8) "a\00\"\n") (; the end ;))`)
	if err != nil {
		t.Fatal(err)
	}
	const want = "0061736d01000000010a0260017f0060017f017f020c0104686f7374036c6f670000030201010404017000030504010101020606017e01427f0b071603066d656d6f727902000166000105616761696e00010a2f012d02017f017e024003402000450d01200041016b21000c000b0b20002d00ac02047f4180010541bf7f1000000b0b0b0a010041080b046100220a"
	if hex.EncodeToString(got) != want {
		t.Errorf("got  %x\nwant %s", got, want)
	}
}

// TestErrors checks that malformed texts are errors.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "not one",
		"(module":                            "without )",
		"(module))":                          "without (",
		`(module (memory "1))`:               "without end",
		"(module (func (br $x)))":            "unknown label",
		"(module (func (local.get $x)))":     "unknown local",
		"(module (func (call $x)))":          "unknown function",
		"(module (func (i32.fly)))":          "instruction",
		"(module (start $x))":                "unknown function",
		"(module (func (param i128)))":       "unknown type",
		"(module (cloud))":                   "unknown field",
		"(module (func (i32.const banana)))": "instruction",
	} {
		if _, err := Assemble(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
