(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @function
(property_declaration (property_element name: (variable_name (name) @name))) @field
(property_promotion_parameter name: (variable_name (name) @name)) @field
(const_declaration (const_element (name) @name)) @field
(enum_case name: (name) @name) @field

(simple_parameter type: (_) @of name: (variable_name (name) @name)) @local
(property_promotion_parameter type: (_) @of name: (variable_name (name) @name)) @local
(property_declaration type: (_) @of (property_element name: (variable_name (name) @name))) @local
(assignment_expression left: (_) @name right: [(object_creation_expression (name) @of) (function_call_expression function: (_) @of) (member_call_expression name: (_) @of) (scoped_call_expression scope: (_) @of)]) @local
