(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @field))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name) @field)

(assignment left: (_) @name type: (type) @of) @local
(assignment left: (_) @name right: [(call function: (_) @of) (await (call function: (_) @of))]) @local
(typed_parameter . (identifier) @name type: (type) @of) @local
(typed_default_parameter name: (identifier) @name type: (type) @of) @local
(as_pattern (call function: (_) @of) alias: (as_pattern_target (identifier) @name)) @local
(assignment left: (attribute object: (identifier) @self attribute: (identifier) @name) right: (identifier) @of) @local
