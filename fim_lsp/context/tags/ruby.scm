(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(assignment left: (constant) @name) @field
(call method: (identifier) @macro arguments: (argument_list (simple_symbol) @name)) @field
(assignment left: (instance_variable) @name) @field
(program (call method: (identifier) @require) @import)
