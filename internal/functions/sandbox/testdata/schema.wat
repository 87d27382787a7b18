;; schema.wat is a check: it rejects triples whose object is no xsd:integer.
;;
;; Constants end with a zero byte, so their lengths need not be counted. Searching for a member such as
;; ,"o": is safe: within a JSON string its quotes would follow backslashes.
(module
  (memory (export "memory") 1)
  (global $out (mut i32) (i32.const 0)) ;; the end of the output
  (data (i32.const 16) "\n\00")
  (data (i32.const 32) ",\"s\":\00")
  (data (i32.const 48) ",\"p\":\00")
  (data (i32.const 64) ",\"o\":\00")
  (data (i32.const 80) ",\"g\":\00")
  (data (i32.const 96) ",\"epoch\":\00")
  (data (i32.const 112) "}\n\00")
  (data (i32.const 128) "{\"kind\":\"add\"\00")
  (data (i32.const 144) "{\"kind\":\"delete\"\00")
  (data (i32.const 176) "\",\"datatype\":\"http://www.w3.org/2001/XMLSchema#integer\"}\00")
  (data (i32.const 240) "{\"op\":\"reject\",\"reason\":\"the object must be an xsd:integer\"}\n\00")

  ;; trefoil_input returns where the input goes. The output begins behind it. A byte of input may
  ;; become two of output.
  (func (export "trefoil_input") (param $size i32) (result i32)
    (local $pages i32)
    (local.set $pages (i32.shr_u (i32.add (i32.mul (local.get $size) (i32.const 3)) (i32.const 69631)) (i32.const 16)))
    (if (i32.gt_u (local.get $pages) (memory.size))
      (then (if (i32.eq (memory.grow (i32.sub (local.get $pages) (memory.size))) (i32.const -1)) (then (unreachable)))))
    (i32.const 4096))

  ;; find returns the address of the first $text in [$from, $end), or $end.
  (func $find (param $from i32) (param $end i32) (param $text i32) (result i32)
    (local $i i32)
    (loop $next
      (local.set $i (i32.const 0))
      (block $differs
        (loop $same
          (if (i32.eqz (i32.load8_u (i32.add (local.get $text) (local.get $i)))) (then (return (local.get $from))))
          (br_if $differs (i32.ge_u (i32.add (local.get $from) (local.get $i)) (local.get $end)))
          (br_if $differs (i32.ne (i32.load8_u (i32.add (local.get $from) (local.get $i))) (i32.load8_u (i32.add (local.get $text) (local.get $i)))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $same)))
      (local.set $from (i32.add (local.get $from) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $from) (local.get $end))))
    (local.get $end))

  ;; put appends [$from, $end) to the output.
  (func $put (param $from i32) (param $end i32)
    (memory.copy (global.get $out) (local.get $from) (i32.sub (local.get $end) (local.get $from)))
    (global.set $out (i32.add (global.get $out) (i32.sub (local.get $end) (local.get $from)))))

  ;; text appends a constant to the output.
  (func $text (param $at i32)
    (local $end i32)
    (local.set $end (local.get $at))
    (loop $next
      (if (i32.load8_u (local.get $end))
        (then (local.set $end (i32.add (local.get $end) (i32.const 1))) (br $next))))
    (call $put (local.get $at) (local.get $end)))

  ;; trefoil_run writes a rejection, or nothing.
  (func (export "trefoil_run") (param $in i32) (param $size i32) (result i64)
    (local $end i32) (local $line i32) (local $tail i32) (local $o i32) (local $after i32)
    (local.set $end (i32.add (local.get $in) (local.get $size)))
    (global.set $out (local.get $end))
    ;; The change is the first line: kind, s, p, o, maybe g, and what identifies it from epoch on.
    (local.set $line (call $find (local.get $in) (local.get $end) (i32.const 16)))
    (local.set $tail (call $find (local.get $in) (local.get $line) (i32.const 96)))
    (if (i32.eq (local.get $tail) (local.get $line)) (then (local.set $tail (i32.sub (local.get $line) (i32.const 1)))))
    (local.set $o (call $find (local.get $in) (local.get $tail) (i32.const 64)))
    (local.set $after (call $find (local.get $o) (local.get $tail) (i32.const 80)))
    (if (i32.eq (call $find (local.get $in) (local.get $line) (i32.const 128)) (local.get $in)) (then
      (if (i32.ge_u (call $find (local.get $o) (local.get $after) (i32.const 176)) (local.get $after)) (then
        (call $text (i32.const 240))))))

    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $end)) (i64.const 32))
      (i64.extend_i32_u (i32.sub (global.get $out) (local.get $end))))))
