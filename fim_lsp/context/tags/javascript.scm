(class_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (property_identifier) @name) @function
(field_definition property: (property_identifier) @name) @field
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body))) @function)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body))) @function)
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @field)
(assignment_expression left: (member_expression object: (this) property: (property_identifier) @name)) @field

(variable_declarator name: (identifier) @name value: [(new_expression constructor: (_) @of) (call_expression function: (_) @of) (await_expression (call_expression function: (_) @of))]) @local
(assignment_expression left: (_) @name right: [(new_expression constructor: (_) @of) (call_expression function: (_) @of)]) @local
