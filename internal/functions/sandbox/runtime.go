// Compiled modules.

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The exports of a module.
const (
	exportMemory     = "memory"
	exportInput      = "trefoil_input"
	exportRun        = "trefoil_run"
	exportInitialize = "_initialize"
)

// compileTimeout bounds the compilation of one module. 4 MiB take about a second.
const compileTimeout = 30 * time.Second

// features are what modules may use: WebAssembly 2.0 without vectors, and without reference types,
// because their tables grow outside of the linear memory.
const features = api.CoreFeaturesV2 &^ (api.CoreFeatureSIMD | api.CoreFeatureReferenceTypes)

// Runtime compiles and runs modules. It is safe for concurrent use.
type Runtime struct {
	limits Limits
	engine wazero.Runtime
	slots  chan struct{} // one for each call at a time
}

// New returns a runtime. It must be closed.
func New(limits Limits) (*Runtime, error) {
	if err := limits.Validate(); err != nil {
		return nil, err
	}
	limits = limits.withDefaults()
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(uint32(limits.MemoryBytes / pageBytes)).
		WithCloseOnContextDone(true).WithDebugInfoEnabled(false)
	return &Runtime{
		limits: limits,
		engine: wazero.NewRuntimeWithConfig(context.Background(), config),
		slots:  make(chan struct{}, limits.Calls),
	}, nil
}

// Close frees all functions. Calls that run end with an error.
func (r *Runtime) Close() error { return r.engine.Close(context.Background()) }

// Function is a compiled module. It is safe for concurrent use.
type Function struct {
	runtime *Runtime
	checked *checked
	module  wazero.CompiledModule
	idle    chan *instance // instances that wait for a call
}

// Compile checks and compiles a module. Its error is [ErrModule] and says what is wrong with the
// module, or that of ctx or of the 30 s that a compilation may take. The function must be closed
// when no call runs any more.
func (r *Runtime) Compile(ctx context.Context, module []byte) (*Function, error) {
	checked, err := checkModule(module, uint32(r.limits.MemoryBytes/pageBytes))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	compiled, err := r.compile(ctx, checked.module)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("compile an update function: %w", ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("%w: %s", ErrModule, oneLine(err))
	}
	f := &Function{runtime: r, checked: checked, module: compiled, idle: make(chan *instance, checked.maxIdle(r.limits.Calls))}
	if err := f.checkExports(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// compile compiles a module. A panic of the compiler is an error of the module: fuzzing found
// malformed modules with which its validation panics.
func (r *Runtime) compile(ctx context.Context, module []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the code is malformed: %v", p)
		}
	}()
	return r.engine.CompileModule(ctx, module)
}

// Close frees the compiled code and the idle instances.
func (f *Function) Close() error {
	var err error
	for {
		select {
		case in := <-f.idle:
			err = errors.Join(err, in.module.Close(context.Background()))
		default:
			return errors.Join(err, f.module.Close(context.Background()))
		}
	}
}

// checkExports returns an error if the module lacks an export, or one has another signature.
func (f *Function) checkExports() error {
	if _, ok := f.module.ExportedMemories()[exportMemory]; !ok {
		return fmt.Errorf("%w: it does not export a memory named %q", ErrModule, exportMemory)
	}
	functions := f.module.ExportedFunctions()
	for _, want := range []struct {
		name            string
		params, results []api.ValueType
		optional        bool
	}{
		{exportInput, []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}, false},
		{exportRun, []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}, false},
		{exportInitialize, nil, nil, true},
	} {
		got, ok := functions[want.name]
		switch {
		case !ok && want.optional:
		case !ok:
			return fmt.Errorf("%w: it does not export a function %q with %s", ErrModule, want.name, signature(want.params, want.results))
		case !slices.Equal(got.ParamTypes(), want.params) || !slices.Equal(got.ResultTypes(), want.results):
			return fmt.Errorf("%w: its function %q has %s, not %s", ErrModule, want.name,
				signature(got.ParamTypes(), got.ResultTypes()), signature(want.params, want.results))
		}
	}
	return nil
}

// signature returns a function's type for messages.
func signature(params, results []api.ValueType) string {
	names := func(types []api.ValueType) string {
		texts := make([]string, len(types))
		for i, t := range types {
			texts[i] = api.ValueTypeName(t)
		}
		return "(" + strings.Join(texts, " ") + ")"
	}
	return "parameters " + names(params) + " and results " + names(results)
}

// oneLine returns the first line of an error, because traps carry a stack of functions.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSpace(strings.TrimSuffix(line, "(recovered by wazero)"))
}
