// Instances of a module, and how they are made as new again.

package sandbox

import (
	"bytes"
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instance is one instance of a function. Only one call uses it at a time.
type instance struct {
	module     api.Module
	input, run api.Function
	// memory and globals are the state before the first call. They are unset if the instance serves
	// one call only.
	memory  []byte
	globals []global
}

// global is a mutable global and its first value.
type global struct {
	api.MutableGlobal
	value uint64
}

// maxIdleBytes bounds the memory of the idle instances of one function and of their first states. A
// node keeps up to 256 functions, and nothing frees the instances of one that is not called.
const maxIdleBytes = 4 << 20

// maxIdle returns the number of instances that may wait for a call, of calls at a time.
func (c *checked) maxIdle(calls int) int {
	if !c.resettable {
		return 0
	}
	return min(calls, maxIdleBytes/max(2*c.memoryBytes, 1))
}

// anonymous lets instances of one module run side by side.
var anonymous = wazero.NewModuleConfig().WithName("").WithStartFunctions(exportInitialize)

// instance returns an idle instance or a new one.
func (f *Function) instance(ctx context.Context) (*instance, error) {
	select {
	case in := <-f.idle:
		return in, nil
	default:
	}
	module, err := f.runtime.engine.InstantiateModule(ctx, f.module, anonymous)
	if err != nil {
		return nil, err
	}
	in := &instance{module: module, input: module.ExportedFunction(exportInput), run: module.ExportedFunction(exportRun)}
	if cap(f.idle) == 0 {
		return in, nil
	}
	// Keep the state. Memory.Read returns the memory itself, so it is copied.
	view, _ := module.Memory().Read(0, module.Memory().Size())
	in.memory = bytes.Clone(view)
	for _, name := range f.checked.globals {
		g, ok := module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			in.memory = nil // it cannot be reset after all
			return in, nil
		}
		in.globals = append(in.globals, global{g, g.Get()})
	}
	return in, nil
}

// reset restores the state before the first call. It returns false if that is not possible: then the
// instance must not be used again. A memory that has grown cannot shrink.
func (in *instance) reset() bool {
	size := in.module.Memory().Size()
	if in.memory == nil || int(size) != len(in.memory) {
		return false
	}
	view, ok := in.module.Memory().Read(0, size)
	if !ok {
		return false
	}
	copy(view, in.memory)
	for _, g := range in.globals {
		g.Set(g.value)
	}
	return true
}
